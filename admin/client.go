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

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// client is an operator.Operator that calls the API of the running daemon.
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

// NewClient returns the operations of the daemon whose admin.listen is listen. The
// errors of its methods are those of operator.Local, or operator.ErrUnauthorized.
func NewClient(listen, token string) (operator.Operator, error) {
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

func (c *client) Status(ctx context.Context) (operator.Status, error) {
	return getStatus.call(ctx, c, none{})
}

func (c *client) FileBans(ctx context.Context, a netip.Addr) ([]operator.FileBan, error) {
	return getFileBans.call(ctx, c, a)
}

func (c *client) Bans(ctx context.Context) ([]storage.Ban, error) {
	return getBans.call(ctx, c, none{})
}

func (c *client) AddBan(ctx context.Context, b storage.Ban) error {
	return addBan.exec(ctx, c, b)
}

func (c *client) RemoveBan(ctx context.Context, p netip.Prefix, scope storage.Scope) (int, error) {
	n, err := removeBans.call(ctx, c, banRef{p, scope})
	return n.Removed, err
}

func (c *client) Games(ctx context.Context) ([]games.Game, error) {
	return getGames.call(ctx, c, none{})
}

func (c *client) PutGames(ctx context.Context, list []games.Game) error {
	return putGames.exec(ctx, c, list)
}

func (c *client) OwnGame(ctx context.Context, name string) (games.Game, error) {
	list, err := getGame.call(ctx, c, name)
	if err != nil {
		return games.Game{}, err
	}
	if len(list) != 1 {
		return games.Game{}, fmt.Errorf("the answer about game %s has %d games", name, len(list))
	}
	list[0].Source.Origin = games.FromStore
	return list[0], nil
}

func (c *client) DeleteGame(ctx context.Context, name string) error {
	return deleteGame.exec(ctx, c, name)
}

func (c *client) SetMaintenance(ctx context.Context, name string, on bool) error {
	return setMaintenance.exec(ctx, c, maintenance{name, switchBody{on}})
}

func (c *client) Rooms(ctx context.Context, game string) ([]storage.Room, error) {
	return getRooms.call(ctx, c, game)
}

func (c *client) PutRoom(ctx context.Context, r storage.Room) (storage.Room, error) {
	return putRoom.call(ctx, c, r)
}

func (c *client) DeleteRoom(ctx context.Context, id uint32) error {
	return deleteRoom.exec(ctx, c, id)
}

func (c *client) Servers(ctx context.Context, game string) ([]operator.Listed, error) {
	return getServers.call(ctx, c, game)
}

func (c *client) KeptServers(ctx context.Context) (operator.Kept, error) {
	return getKept.call(ctx, c, none{})
}

func (c *client) AddServer(ctx context.Context, a storage.AddedServer) error {
	return addServer.exec(ctx, c, a)
}

func (c *client) RemoveServer(ctx context.Context, address string) (operator.Removal, error) {
	return removeServer.call(ctx, c, address)
}

func (c *client) HideServer(ctx context.Context, h storage.HiddenServer) error {
	return hideServer.exec(ctx, c, h)
}

func (c *client) UnhideServer(ctx context.Context, a netip.AddrPort) error {
	return unhideServer.exec(ctx, c, a)
}

func (c *client) Verdicts(ctx context.Context, a netip.Addr) ([]operator.Verdict, error) {
	return getVerdicts.call(ctx, c, a)
}

func (c *client) Masters(ctx context.Context) ([]operator.OtherMaster, error) {
	return getMasters.call(ctx, c, none{})
}

func (c *client) Meetings(ctx context.Context) (operator.Meetings, error) {
	return getMeetings.call(ctx, c, none{})
}

func (c *client) Relayed(ctx context.Context) ([]operator.RelayedPair, error) {
	return getRelayed.call(ctx, c, none{})
}

func (c *client) SignedIn(ctx context.Context, q operator.SessionQuery) (operator.SessionPage, error) {
	return getSessions.call(ctx, c, q)
}

func (c *client) Kick(ctx context.Context, id storage.ProfileID) (int, error) {
	n, err := deleteSession.call(ctx, c, id)
	return n.Removed, err
}

func (c *client) Waiting(ctx context.Context) (operator.Waiting, error) {
	return getMessages.call(ctx, c, none{})
}

func (c *client) AuditLog(ctx context.Context, q operator.AuditQuery) (operator.AuditPage, error) {
	return getAudit.call(ctx, c, q)
}

func (c *client) ChatRules(ctx context.Context) ([]storage.ChatRule, error) {
	return getChatRules.call(ctx, c, none{})
}

func (c *client) PutChatRule(ctx context.Context, r storage.ChatRule) error {
	return putChatRule.exec(ctx, c, r)
}

func (c *client) RemoveChatRule(ctx context.Context, key storage.ChatRuleKey) error {
	return removeChatRule.exec(ctx, c, key)
}

func (c *client) ChatRooms(ctx context.Context) ([]operator.ChatRoom, error) {
	return getChatRooms.call(ctx, c, none{})
}

func (c *client) ChatWho(ctx context.Context, channel string) ([]operator.ChatMember, error) {
	return getChatMembers.call(ctx, c, channel)
}

func (c *client) ChatKick(ctx context.Context, t operator.ChatTarget, reason string) (int, error) {
	n, err := chatKick.call(ctx, c, kickBody{t, reason})
	return n.Removed, err
}

func (c *client) ChatSay(ctx context.Context, channel, text string) error {
	return chatSay.exec(ctx, c, sayBody{channel, text})
}

func (c *client) ChatSaid(ctx context.Context, channel string) ([]operator.ChatLine, error) {
	return getChatLines.call(ctx, c, channel)
}

func (c *client) CDKeys(ctx context.Context, q operator.CDKeyQuery) ([]operator.CDKey, error) {
	return getCDKeys.call(ctx, c, q)
}

func (c *client) AddCDKeys(ctx context.Context, n operator.NewCDKeys) (int, error) {
	a, err := addCDKeys.call(ctx, c, n)
	return a.Added, err
}

func (c *client) RemoveCDKey(ctx context.Context, id storage.ProductKeyID) error {
	return removeCDKey.exec(ctx, c, id)
}

func (c *client) BanCDKey(ctx context.Context, b operator.CDKeyBan) error {
	return banCDKey.exec(ctx, c, b)
}

func (c *client) UnbanCDKey(ctx context.Context, id storage.ProductKeyID) error {
	return unbanCDKey.exec(ctx, c, id)
}

// errBackupCut is returned for a backup that ended too early.
var errBackupCut = errors.New("the daemon broke the backup off; see its log")

func (c *client) Backup(ctx context.Context, w io.Writer) error {
	resp, err := c.do(ctx, http.MethodGet, backupPath, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") != tarType {
		return errBackupCut
	}
	return copyWhole(w, resp.Body, errBackupCut)
}

// copyWhole copies a body, and returns cut if the daemon ended it early.
func copyWhole(w io.Writer, body io.Reader, cut error) error {
	_, err := io.Copy(w, body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return cut
	}
	return err
}

func (c *client) CreateAccount(ctx context.Context, a operator.NewAccount) (storage.Profile, error) {
	return createAccount.call(ctx, c, a)
}

func (c *client) ListAccounts(ctx context.Context, q operator.AccountQuery) (operator.AccountPage, error) {
	return getAccounts.call(ctx, c, q)
}

func (c *client) FindAccount(ctx context.Context, ref operator.AccountRef) (accounts.Account, error) {
	return getAccount.call(ctx, c, ref)
}

func (c *client) SetPassword(ctx context.Context, id storage.UserID, password string) error {
	return setPassword.exec(ctx, c, newPassword{id, password})
}

func (c *client) IssueReset(ctx context.Context, id storage.UserID) (operator.ResetLink, error) {
	return issueReset.call(ctx, c, id)
}

func (c *client) BanAccount(ctx context.Context, id storage.UserID, b storage.AccountBan) error {
	return banAccount.exec(ctx, c, accountBan{id, b})
}

func (c *client) UnbanAccount(ctx context.Context, id storage.UserID) error {
	return unbanAccount.exec(ctx, c, id)
}

func (c *client) DeleteAccount(ctx context.Context, id storage.UserID) error {
	return deleteAccount.exec(ctx, c, id)
}

// errExportCut is returned for an export that ended too early.
var errExportCut = errors.New("the daemon broke the export off; see its log")

func (c *client) ExportAccounts(ctx context.Context, w io.Writer, secrets bool) (leftOut int, err error) {
	return c.export(ctx, w, exportPath+"?secrets="+strconv.FormatBool(secrets))
}

// export writes the answer of a path of which leftOutTrailer is the trailer.
func (c *client) export(ctx context.Context, w io.Writer, path string) (leftOut int, err error) {
	resp, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := copyWhole(w, resp.Body, errExportCut); err != nil {
		return 0, err
	}
	if leftOut, err = strconv.Atoi(resp.Trailer.Get(leftOutTrailer)); err != nil {
		return 0, errExportCut
	}
	return leftOut, nil
}

func (c *client) ImportAccounts(ctx context.Context, list []accounts.Account) (all []operator.Imported, err error) {
	err = inParts(list, maxImport, func(part []accounts.Account) error {
		out, err := importAccounts.call(ctx, c, importBody{part})
		if err == nil && len(out) != len(part) {
			err = fmt.Errorf("the daemon answered about %d accounts of %d", len(out), len(part))
		}
		all = append(all, out...)
		return err
	})
	return all, err
}

func (c *client) ImportBuddies(ctx context.Context, list []accounts.Account) error {
	return inParts(list, maxImport, func(part []accounts.Account) error {
		return importBuddies.exec(ctx, c, importBody{part})
	})
}

// maxImport is the maximum size of one request of an import, in bytes of JSON.
// A single record may be larger.
const maxImport = 4 << 20

// maxRecords is the maximum number of records in one request of an import.
const maxRecords = min(operator.MaxAccountPage, operator.MaxStatsImport)

// inParts calls f for parts of a list that have at most maxRecords records and limit
// bytes.
func inParts[T any](list []T, limit int, f func([]T) error) error {
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && n < maxRecords {
			b, err := json.Marshal(list[n])
			if err != nil {
				return err
			}
			if size += len(b); n > 0 && size > limit {
				break
			}
			n++
		}
		if err := f(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (c *client) RotateAccountKey(ctx context.Context) (int, error) {
	n, err := rotateKey.callSlow(ctx, c, none{}) // as long as it takes
	return n.Done, err
}
