package rig

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/gpcm"
	"github.com/respawnd/respawnd/gpsp"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/storage"
)

// Typing runs a command with text on standard input.
func Typing(t testing.TB, env []string, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Hang)
	defer cancel()
	var o, e bytes.Buffer
	code = Run(ctx, args, env, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

// Typed is typing for a command that must succeed.
func Typed(t testing.TB, env []string, in string, args ...string) string {
	t.Helper()
	code, out, errOut := Typing(t, env, in, args...)
	if code != 0 || WithoutNotes(errOut) != "" {
		t.Fatalf("respawnd %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errOut)
	}
	return out
}

// WantIn fails unless all parts are in text.
func WantIn(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in:\n%s", p, text)
		}
	}
}

// AuditEntries parses the output of `audit --json`, newest entry first.
func AuditEntries(t testing.TB, out string) []storage.AuditEntry {
	t.Helper()
	var all []storage.AuditEntry
	for line := range strings.Lines(out) {
		var e storage.AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// AnnAndBen starts a daemon with two accounts: the operator has made one, a game
// the other. The unique nicks are the nicks.
func AnnAndBen(t *testing.T, more ...string) *Running {
	t.Helper()
	d := Start(t, t.TempDir(), more...)
	out := Typed(t, d.CliEnv(), StormPassword+"\n", "account", "create",
		"--email", "Ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	WantIn(t, out, "profile 1 (Ann)")
	if id := NewUser(t.Context(), d.Address["gpsp"], "Ben"); id != "2" {
		t.Fatalf("newuser made profile %q, want 2", id)
	}
	return d
}

// Befriend lets Ann ask Ben, and Ben agree.
func Befriend(ann, ben Seat) {
	ann.T.Helper()
	ann.Say(`\addbuddy\\sesskey\$K\newprofileid\%s\reason\play with me`, ben.Profile)
	request := ben.Hears(`\bm\2\f\%s\`, ann.Profile)
	WantIn(ann.T, request, `\msg\play with me|signed|`)
	_, signature, _ := strings.Cut(strings.TrimSuffix(request, gamespy.Final), "|signed|")
	ben.Say(`\authadd\\sesskey\$K\fromprofileid\%s\sig\%s`, ann.Profile, signature)
	ann.Hears(`\bm\4\f\%s\`, ben.Profile)
	ann.Hears(`\bm\100\f\%s\msg\|s|1|ss|Online|`, ben.Profile)
}

// ErrUnexpected reports a message other than the expected one. Any other error
// of a player means that the connection has ended.
var ErrUnexpected = netclient.ErrUnexpected

// Player is a game that signs in to the presence service.
type Player struct{ *gpcm.Client }

// Unmet returns a player on a connection whose greeting has not been read.
func Unmet(c net.Conn) *Player { return &Player{&gpcm.Client{Text: netclient.NewText(c)}} }

// Meet connects to the presence service and reads the greeting.
func Meet(ctx context.Context, at netip.AddrPort) (*Player, error) {
	ctx = netclient.Bound(ctx, Hang)
	c, err := netclient.DialTCP(ctx, at.String())
	if err != nil {
		return nil, err
	}
	p, err := gpcm.Connect(ctx, c)
	return &Player{p}, err
}

// Knock sends a login: by is the key with the name, uniquenick or user.
func (p *Player) Knock(by, who, password string) error {
	_, err := p.SendLogin(gpcm.Login{By: by, Name: who, Password: password, Game: TestGame})
	return err
}

// Enter logs in and reads the answer.
func (p *Player) Enter(by, who, password string) error {
	return p.Login(netclient.Bound(context.Background(), Hang), gpcm.Login{By: by, Name: who, Password: password, Game: TestGame})
}

// MustSend writes a message. $K in it stands for the session key.
func (p *Player) MustSend(text string) error {
	return p.SendText(strings.ReplaceAll(text, "$K", p.Session))
}

// MustNext returns the next message with its end.
func (p *Player) MustNext() (string, error) {
	m, err := p.Next(netclient.Bound(context.Background(), Hang))
	if err != nil {
		return "", err
	}
	return m + gamespy.Final, nil
}

// Expect returns the next message, which must begin like that.
func (p *Player) Expect(head string) (string, error) {
	m, err := p.MustNext()
	if err == nil && !strings.HasPrefix(m, head) {
		err = fmt.Errorf("%w: %q, want %q", ErrUnexpected, m, head)
	}
	return m, err
}

// CaughtUp waits until all commands of the player are executed, and returns the
// messages received meanwhile. Commands of one session are executed in order,
// so it sends one that has an answer of its own.
func (p *Player) CaughtUp() (heard []string, err error) {
	const id = `\id\999\final\`
	if err := p.MustSend(`\getprofile\\sesskey\$K\profileid\2147483647` + id); err != nil {
		return nil, err
	}
	for {
		m, err := p.MustNext()
		if err != nil || strings.HasSuffix(m, id) {
			return heard, err
		}
		heard = append(heard, m)
	}
}

// MustLeave logs out and waits for the server to close the connection, which it
// does when the player is signed out.
func (p *Player) MustLeave() error {
	if err := p.MustSend(`\logout\\sesskey\$K\final\`); err != nil {
		return err
	}
	return p.Ended()
}

// Ended reads up to the end of the connection.
func (p *Player) Ended() error {
	for {
		_, err := p.MustNext()
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			return fmt.Errorf("the connection is still open: %w", err)
		}
		if err != nil {
			return p.Close()
		}
	}
}

// Field returns the value of a key in the way clients look for it.
func Field(message, key string) string { return netclient.Field(message, key) }

// Seat is a player in a test that fails when something goes wrong.
type Seat struct {
	*Player
	T testing.TB
}

// Greeted returns a player who has read the greeting.
func Greeted(t testing.TB, d *Running) Seat {
	t.Helper()
	p, err := Meet(t.Context(), d.Address["gpcm"])
	if err != nil {
		t.Fatalf("connect to gpcm: %v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return Seat{p, t}
}

// SignedIn returns a player who has logged in.
func SignedIn(t testing.TB, d *Running, by, who string) Seat {
	t.Helper()
	s := Greeted(t, d)
	if err := s.Enter(by, who, StormPassword); err != nil {
		t.Fatalf("login with %s %s: %v", by, who, err)
	}
	return s
}

// Say sends a message.
func (s Seat) Say(format string, args ...any) {
	s.T.Helper()
	text := fmt.Sprintf(format, args...) + gamespy.Final
	if err := s.MustSend(text); err != nil {
		s.T.Fatalf("send %q: %v", text, err)
	}
}

// Hears returns the next message, which must begin like that.
func (s Seat) Hears(format string, args ...any) string {
	s.T.Helper()
	m, err := s.Expect(fmt.Sprintf(format, args...))
	if err != nil {
		s.T.Fatal(err)
	}
	return m
}

// HearsNothing fails if there are unread messages.
func (s Seat) HearsNothing() {
	s.T.Helper()
	if heard, err := s.CaughtUp(); err != nil || len(heard) > 0 {
		s.T.Fatalf("heard %q, %v; want nothing", heard, err)
	}
}

// IsOut fails unless the server closes the connection.
func (s Seat) IsOut() {
	s.T.Helper()
	if err := s.Ended(); err != nil {
		s.T.Fatal(err)
	}
}

// Enter connects and logs in by unique nick with the password of the storm.
func Enter(ctx context.Context, at netip.AddrPort, uniqueNick string) (*Player, error) {
	p, err := Meet(ctx, at)
	if err != nil {
		return nil, err
	}
	if err := p.Enter("uniquenick", uniqueNick, StormPassword); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// CarriesOut sends a command and waits until it is acknowledged.
func (p *Player) CarriesOut(command string) error {
	if err := p.MustSend(command + gamespy.Final); err != nil {
		return err
	}
	heard, err := p.CaughtUp()
	if err != nil {
		return err
	}
	for _, m := range heard {
		if strings.HasPrefix(m, `\error\`) {
			return fmt.Errorf("%w: %s was answered with %s", ErrUnexpected, command, m)
		}
	}
	return nil
}

// StormPassword is the password of all accounts of the storm; it must not be
// found anywhere in the data folder.
const StormPassword = "Kx7-storm-Passwd"

// AskSearch sends one request of account search and returns the answer up to its end.
func AskSearch(ctx context.Context, at netip.AddrPort, request string) (string, error) {
	ctx = netclient.Bound(ctx, Hang)
	conn, err := netclient.DialTCP(ctx, at.String())
	if err != nil {
		return "", err
	}
	c := gpsp.NewClient(conn)
	defer func() { _ = c.Close() }()
	if err := c.SendText(request); err != nil {
		return "", err
	}
	answer, err := c.Next(ctx)
	return answer + gamespy.Final, err
}

// NewUser creates an account as a game does and returns the id of its profile,
// "" if it was not acknowledged.
func NewUser(ctx context.Context, at netip.AddrPort, name string) (id string) {
	answer, err := AskSearch(ctx, at, NewUserRequest(name))
	if err != nil || !strings.HasPrefix(answer, `\nur\0\pid\`) {
		return ""
	}
	return Field(answer, "pid")
}

// NewUserRequest is the message with which a client makes an account.
func NewUserRequest(name string) string {
	return fmt.Sprintf(
		`\newuser\\nick\%s\email\%s@example.com\passenc\%s\productID\1\namespaceid\1\uniquenick\%s\partnerid\0\gamename\gmtest\final\`,
		name, name, gamespy.EncodePassword(StormPassword), name)
}

// passwordForms are the usual forms of the password of the storm, none of which may be written
// anywhere.
var passwordForms = sync.OnceValue(func() map[string][]byte {
	sum := md5.Sum([]byte(StormPassword))
	return map[string][]byte{
		"the password":           []byte(StormPassword),
		"the password in base64": []byte(base64.StdEncoding.EncodeToString([]byte(StormPassword))),
		"the encoded password":   []byte(gamespy.EncodePassword(StormPassword)),
		"its MD5":                sum[:],
		"its MD5 in hex":         []byte(hex.EncodeToString(sum[:])),
		"its MD5 in upper hex":   []byte(strings.ToUpper(hex.EncodeToString(sum[:]))),
		"its MD5 in base64":      []byte(base64.StdEncoding.EncodeToString(sum[:])),
	}
})

// WantNoPassword fails if a file in the folder or below it holds the password or its MD5 in
// any usual form.
func WantNoPassword(t *testing.T, dir string) {
	t.Helper()
	Must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		for what, form := range passwordForms() {
			if bytes.Contains(b, form) {
				t.Errorf("%s holds %s", name, what)
			}
		}
		return err
	}))
}
