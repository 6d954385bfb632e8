package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Client carries operations to the running daemon.
type Client struct {
	base  string
	token string
	http  *http.Client
}

var _ operator.Operator = (*Client)(nil)

// clientTimeout bounds every call but a backup.
const clientTimeout = 60 * time.Second

// maxAnswer bounds an answer that is held in memory, in bytes.
const maxAnswer = 256 << 20

// healthy is what /healthz answers.
const healthy = "ok\n"

// NewClient returns a client for the daemon whose admin.listen is listen.
func NewClient(listen, token string) (*Client, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("admin.listen: %w", err)
	}
	if a, err := netip.ParseAddr(host); host == "" || (err == nil && a.IsUnspecified()) {
		host = "127.0.0.1"
	}
	// No proxy: it would get the token.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return &Client{base: "http://" + net.JoinHostPort(host, port), token: token, http: direct}, nil
}

// answerTime is how long Answers waits.
const answerTime = time.Second

// Answers reports whether the admin service of a daemon answers at a listen
// address. It needs no token.
func Answers(ctx context.Context, listen string) bool {
	c, err := NewClient(listen, "")
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/healthz", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(len(healthy))+1))
	return err == nil && resp.StatusCode == http.StatusOK && string(body) == healthy
}

// call makes a request and decodes the JSON answer into out, unless out is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var payload io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	resp, err := c.do(ctx, method, path, payload)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out)
}

// do makes a request. The answer is a success; its body belongs to the caller.
func (c *Client) do(ctx context.Context, method, path string, payload io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, payload)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set(viaHeader, string(storage.ViaCommand))
	if by := operator.ActorOf(ctx).By; by != "" {
		req.Header.Set(byHeader, url.QueryEscape(by))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the running daemon does not answer on admin.listen: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, refusal(resp)
}

// refusal turns an error answer into the error that Local would have returned.
func refusal(resp *http.Response) error {
	var p problem
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&p); err != nil || p.Error == "" {
		p.Error = resp.Status
	}
	kind := error(nil)
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return operator.ErrUnauthorized
	case http.StatusNotFound:
		kind = storage.ErrNotFound
	case http.StatusConflict:
		kind = storage.ErrConflict
	case http.StatusBadRequest:
		kind = operator.ErrBadRequest
	}
	return &remoteError{p.Error, kind}
}

// remoteError has the daemon's words and the kind that callers decide by.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// Bans implements Operator.
func (c *Client) Bans(ctx context.Context) (list []storage.Ban, err error) {
	err = c.call(ctx, http.MethodGet, "/api/v1/bans", nil, &list)
	return list, err
}

// AddBan implements Operator.
func (c *Client) AddBan(ctx context.Context, b storage.Ban) error {
	return c.call(ctx, http.MethodPost, "/api/v1/bans", b, nil)
}

// RemoveBan implements Operator.
func (c *Client) RemoveBan(ctx context.Context, p netip.Prefix, scope storage.Scope) (int, error) {
	q := url.Values{"prefix": {p.String()}}
	if scope != storage.EveryScope {
		q.Set("scope", scope.String())
	}
	var n removed
	err := c.call(ctx, http.MethodDelete, "/api/v1/bans?"+q.Encode(), nil, &n)
	return n.Removed, err
}

// Games implements Operator.
func (c *Client) Games(ctx context.Context) ([]games.Game, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	resp, err := c.do(ctx, http.MethodGet, "/api/v1/games", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return games.ParseYAML(resp.Body, games.Source{})
}

// PutGames implements Operator.
func (c *Client) PutGames(ctx context.Context, list []games.Game) error {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	resp, err := c.do(ctx, http.MethodPut, "/api/v1/games", bytes.NewReader(games.AppendYAML(nil, list)))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// DeleteGame implements Operator.
func (c *Client) DeleteGame(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/api/v1/games/"+url.PathEscape(name), nil, nil)
}

// Rooms implements Operator.
func (c *Client) Rooms(ctx context.Context, game string) (list []storage.Room, err error) {
	err = c.call(ctx, http.MethodGet, "/api/v1/rooms?"+url.Values{"game": {game}}.Encode(), nil, &list)
	return list, err
}

// PutRoom implements Operator.
func (c *Client) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	err := c.call(ctx, http.MethodPut, "/api/v1/rooms", r, &r)
	return r, err
}

// DeleteRoom implements Operator.
func (c *Client) DeleteRoom(ctx context.Context, id uint32) error {
	return c.call(ctx, http.MethodDelete, "/api/v1/rooms/"+strconv.FormatUint(uint64(id), 10), nil, nil)
}

// Servers implements Operator.
func (c *Client) Servers(ctx context.Context, game string) (list []operator.Listed, err error) {
	err = c.call(ctx, http.MethodGet, "/api/v1/servers?"+url.Values{"game": {game}}.Encode(), nil, &list)
	return list, err
}

// Verdicts implements Operator.
func (c *Client) Verdicts(ctx context.Context, addr netip.Addr) (list []operator.Verdict, err error) {
	path := "/api/v1/verdicts"
	if addr.IsValid() {
		path += "?" + url.Values{"addr": {addr.String()}}.Encode()
	}
	err = c.call(ctx, http.MethodGet, path, nil, &list)
	return list, err
}

// errCut is returned for a backup that ended too early.
var errCut = errors.New("the daemon broke the backup off; see its log")

// Backup implements Operator.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	resp, err := c.do(ctx, http.MethodGet, "/api/v1/backup", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/x-tar") {
		return errCut
	}
	if _, err = io.Copy(w, resp.Body); errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}

// AuditLog implements Operator.
func (c *Client) AuditLog(ctx context.Context, q operator.AuditQuery) (page operator.AuditPage, err error) {
	v := url.Values{}
	if q.Before > 0 {
		v.Set("before", strconv.FormatUint(q.Before, 10))
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	err = c.call(ctx, http.MethodGet, "/api/v1/audit?"+v.Encode(), nil, &page)
	return page, err
}

// SignedIn implements Operator.
func (c *Client) SignedIn(ctx context.Context, after storage.ProfileID, limit int) (page operator.SessionPage, err error) {
	v := url.Values{"after": {strconv.FormatUint(uint64(after), 10)}, "limit": {strconv.Itoa(limit)}}
	err = c.call(ctx, http.MethodGet, "/api/v1/sessions?"+v.Encode(), nil, &page)
	return page, err
}

// Kick implements Operator.
func (c *Client) Kick(ctx context.Context, id storage.ProfileID) (int, error) {
	var n removed
	err := c.call(ctx, http.MethodDelete, "/api/v1/sessions/"+strconv.FormatUint(uint64(id), 10), nil, &n)
	return n.Removed, err
}

// Waiting implements Operator.
func (c *Client) Waiting(ctx context.Context) (w operator.Waiting, err error) {
	err = c.call(ctx, http.MethodGet, "/api/v1/messages", nil, &w)
	return w, err
}

// OwnGame implements Operator.
func (c *Client) OwnGame(ctx context.Context, name string) (games.Game, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	resp, err := c.do(ctx, http.MethodGet, "/api/v1/games/"+url.PathEscape(name), nil)
	if err != nil {
		return games.Game{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	list, err := games.ParseYAML(resp.Body, games.Source{Origin: games.FromStore})
	if err != nil || len(list) != 1 {
		return games.Game{}, fmt.Errorf("answer about game %s: %w", name, err)
	}
	return list[0], nil
}

// SetMaintenance implements Operator.
func (c *Client) SetMaintenance(ctx context.Context, name string, on bool) error {
	return c.call(ctx, http.MethodPut, "/api/v1/games/"+url.PathEscape(name)+"/maintenance", switchBody{on}, nil)
}
