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
	"time"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// client is an operator.Conn that calls the API of the running daemon.
type client struct {
	base  string
	token string
	http  *http.Client
}

const (
	clientTimeout = 60 * time.Second // for a call, except those of any length
	answerTime    = 10 * time.Second // how long Answers waits; a daemon on a busy machine takes seconds
)

// maxAnswer bounds an answer that is held in memory, in bytes.
const maxAnswer = 256 << 20

// healthy is the answer of /healthz.
const healthy = "ok\n"

// NewClient returns the running daemon whose admin.listen is listen. Its
// errors are those of operator.Local, or operator.ErrUnauthorized.
func NewClient(listen, token string) (operator.Conn, error) {
	return newClient(listen, token)
}

func newClient(listen, token string) (*client, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("admin.listen: %w", err)
	}
	if a, err := netip.ParseAddr(host); host == "" || (err == nil && a.IsUnspecified()) {
		host = "127.0.0.1"
	}
	// No proxy: it would get the token.
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return &client{base: "http://" + net.JoinHostPort(host, port), token: token, http: direct}, nil
}

// Answers reports whether the admin service of a daemon answers at a listen
// address. It needs no token.
func Answers(ctx context.Context, listen string) bool {
	c, err := newClient(listen, "")
	return err == nil && c.answers(ctx)
}

func (c *client) answers(ctx context.Context) bool {
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

// do sends a request. The answer is a success; its body belongs to the caller.
func (c *client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
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

// Do implements operator.Conn.
func (c *client) Do(ctx context.Context, o *operator.Operation, in any) (any, error) {
	if !o.Slow {
		limited, cancel := context.WithTimeout(ctx, clientTimeout)
		defer cancel()
		ctx = limited
	}
	resp, err := c.send(ctx, o, in)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	return o.Decode(io.LimitReader(resp.Body, maxAnswer))
}

// Write implements operator.Conn.
func (c *client) Write(ctx context.Context, o *operator.Operation, in any, w io.Writer) (leftOut int, err error) {
	resp, err := c.send(ctx, o, in)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") != o.Type {
		return 0, errCut
	}
	_, err = io.Copy(w, resp.Body)
	if err == nil && o.Type == operator.Lines {
		leftOut, err = strconv.Atoi(resp.Trailer.Get(leftOutTrailer)) // the end of the answer
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, strconv.ErrSyntax) {
		err = errCut
	}
	return leftOut, err
}

// errCut is returned for a stream that ended too early.
var errCut = errors.New("the daemon broke it off; see its log")

func (c *client) send(ctx context.Context, o *operator.Operation, in any) (*http.Response, error) {
	path, body, err := o.Request(in)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, o.Method(), path, body)
}

// refusal turns the answer of an error into the error that operator.Local returned.
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
	case http.StatusNotImplemented:
		kind = operator.ErrNoChat
	}
	return &remoteError{p.Error, kind}
}

// remoteError has the daemon's text and matches the error of its kind.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }
