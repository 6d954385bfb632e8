package peerchat

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// The players of the tests.
const (
	testPassword  = "secret"
	testNamespace = 1
	testGame      = "gmtest"
)

// timeout limits how long a test waits for an expected line.
const timeout = time.Minute

// fixture is a running service.
type fixture struct {
	t        testing.TB
	store    *records.Store
	accounts *accounts.Service
	hub      *presence.Local
	rules    *chatrules.Table
	server   *Server
	drops    *prometheus.Registry
	dial     func() (net.Conn, error)
	dialFrom func(netip.AddrPort) (net.Conn, error) // only of startPipe
	stop     func()                                 // may be called before the end
	timeout  time.Duration
}

// start runs a service on a loopback socket.
func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := build(t, change)
	f.dial = func() (net.Conn, error) {
		return new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String())
	}
	f.serve(ln)
	return f
}

// startPipe runs a service on connections in memory, which synctest can follow.
func startPipe(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln := nettest.NewPipes()
	f := build(t, change)
	f.dialFrom = ln.DialFrom
	f.dial = func() (net.Conn, error) { return ln.DialFrom(netip.MustParseAddrPort("127.0.0.1:1")) }
	f.timeout = time.Hour // which passes at once
	f.serve(ln)
	return f
}

// build makes a service that does not run. It has no limits of new connections and of
// the pace; change may set them.
func build(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	store := storetest.New(t)
	all, err := accounts.Open(t.Context(), store, accounts.Options{KeyFile: filepath.Join(t.TempDir(), "account.key")})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := games.NewCatalog([]games.Game{
		{Name: testGame, Title: "Test", Secrets: []string{recordedSecret}, Rooms: []games.Room{{ID: 12, Name: "Lobby"}}},
		{Name: "nokey", Title: "No key"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		t: t, timeout: timeout, store: store, accounts: all, hub: presence.New(store, presence.Options{}),
		rules: chatrules.New(store), drops: prometheus.NewRegistry(),
	}
	opt := Options{
		Config: defaults(), Accounts: all, Games: catalog, Attach: f.hub.Attach, Talk: service.Talk{Rules: f.rules}, Self: part.Self{Log: zerolog.Nop(), Metrics: netserve.NewMetrics(f.drops, name, reasons...)},
	}
	opt.Rate, opt.MaxPerAddr = -1, -1
	opt.Pace, opt.PaceBurst, opt.PacePerAddr, opt.PacePerAddrBurst = 1e6, 1e6, 1e6, 1e7
	if change != nil {
		change(&opt)
	}
	f.server = New(opt)
	f.rules.OnChange(f.server.Recheck)
	return f
}

// defaults returns a configuration of defaults.
func defaults() (c Config) {
	configs.Defaults(&c)
	return c
}

// serve runs the service until the end of the test, and then checks that nothing is
// left in its hall.
func (f *fixture) serve(ln net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.server.Serve(ctx, ln) }()
	stopped := false
	f.stop = func() {
		if stopped {
			return
		}
		stopped = true
		f.server.hall.check(f.t)
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("Serve: %v", err)
		}
		h := f.server.hall
		h.check(f.t)
		if len(h.nicks)+len(h.profiles)+len(h.channels) != 0 {
			f.t.Errorf("left in the hall: %d nicks, %d profiles, %d channels", len(h.nicks), len(h.profiles), len(h.channels))
		}
	}
	f.t.Cleanup(f.stop)
}

// dropped returns how often connections or commands were dropped for a reason.
func (f *fixture) dropped(reason ended) int { return metrictest.Dropped(f.t, f.drops, reason.Error()) }

// reload changes live keys of the service.
func (f *fixture) reload(change func(*Config)) {
	c := f.server.opt.Config
	change(&c)
	f.server.Reload(&c)
}

// register creates an account whose unique nick is its nick; without one if
// namespace is 0.
func (f *fixture) register(nick string, namespace int) storage.Profile {
	f.t.Helper()
	r := accounts.Registration{
		Namespace: namespace, Email: strings.ToLower(nick) + "@example.com", Nick: nick, Password: testPassword,
		From: netip.MustParseAddr("127.0.0.1"),
	}
	if namespace > 0 {
		r.UniqueNick = nick
	}
	p, err := f.accounts.Users.Register(context.Background(), r)
	if err != nil {
		f.t.Fatalf("Register(%s): %v", nick, err)
	}
	return p
}

func md5hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// client is a client with its unread bytes.
type client struct {
	t       testing.TB
	f       *fixture
	conn    net.Conn
	buf     []byte
	nick    string
	in, out *cipher // nil: clear
}

// connect returns a client that has sent nothing.
func (f *fixture) connect() *client {
	f.t.Helper()
	c, err := f.dial()
	if err != nil {
		f.t.Fatal(err)
	}
	return f.client(c)
}

func (f *fixture) client(c net.Conn) *client {
	f.t.Cleanup(func() { _ = c.Close() })
	return &client{t: f.t, f: f, conn: c}
}

// signOn returns a client that has signed on in the clear, without an account.
func (f *fixture) signOn(nick string) *client {
	f.t.Helper()
	c := f.connect()
	c.signOn(nick)
	return c
}

// signOn sends USER and NICK and reads the welcome. The nick is the user name too.
func (c *client) signOn(nick string) {
	c.t.Helper()
	c.send("USER "+nick+" 127.0.0.1 peerchat.gamespy.com :Real name", "NICK "+nick)
	c.welcomed(nick)
}

// welcomed reads the welcome.
func (c *client) welcomed(nick string) {
	c.t.Helper()
	c.nick = nick
	c.want(":s 001 " + nick + " :Welcome to the chat, " + nick)
	for line := c.line(); !strings.Contains(line, " 422 ") && !strings.Contains(line, " 376 "); {
		line = c.line()
	}
}

// logIn signs on an account that has a unique nick, with ciphers.
func (f *fixture) logIn(p storage.Profile) *client {
	f.t.Helper()
	c := f.connect()
	c.encrypt()
	nick := p.UniqueNickIn(testNamespace)
	c.send("LOGIN 1 " + nick + " " + md5hex(testPassword))
	c.want(":s 707 " + nick + " " + formatID(uint32(p.User)) + " " + formatID(uint32(p.ID)))
	c.send("USER X1lsaFvqsX|"+formatID(uint32(p.ID))+" 127.0.0.1 peerchat.gamespy.com :Real name", "NICK *")
	c.welcomed(nick + nickSuffix)
	return c
}

// encrypt sends CRYPT and uses the ciphers of the answer.
func (c *client) encrypt() {
	c.t.Helper()
	c.send("CRYPT des 1 " + testGame)
	words := strings.Fields(c.line())
	if len(words) != 5 || words[1] != "705" || len(words[3]) != challengeLen || len(words[4]) != challengeLen {
		c.t.Fatalf("received %q, want 705 with two challenges", words)
	}
	out, in := newCipher(words[3], recordedSecret), newCipher(words[4], recordedSecret)
	c.out, c.in = &out, &in
	c.in.apply(c.buf)
}

// send writes lines, all at once.
func (c *client) send(lines ...string) {
	c.t.Helper()
	if err := c.trySend(strings.Join(lines, "\r\n") + "\r\n"); err != nil {
		c.t.Fatalf("send %.100q: %v", lines, err)
	}
}

func (c *client) trySend(text string) error {
	b := []byte(text)
	if c.out != nil {
		c.out.apply(b)
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.f.timeout))
	_, err := c.conn.Write(b)
	return err
}

// line returns the next line without its end. It has as many parameters as games
// accept.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.tryLine()
	if err != nil {
		c.t.Fatalf("%s: %v (unread: %.200q)", c.nick, err, c.buf)
	}
	return line
}

func (c *client) tryLine() (string, error) {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(c.f.timeout))
	for {
		if line, rest, ok := bytes.Cut(c.buf, []byte("\r\n")); ok {
			c.buf = rest
			if bytes.ContainsAny(line, "\r\n\x00") {
				c.t.Errorf("%q has a line end or NUL inside", line)
			}
			checkCount(c.t, line)
			return string(line), nil
		}
		var b [16 << 10]byte
		n, err := c.conn.Read(b[:])
		if c.in != nil {
			c.in.apply(b[:n])
		}
		c.buf = append(c.buf, b[:n]...)
		if n == 0 && err != nil {
			return "", err
		}
	}
}

// want reads lines, which must be exactly these.
func (c *client) want(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got := c.line(); got != want {
			c.t.Fatalf("%s received %q, want %q", c.nick, got, want)
		}
	}
}

// ask sends a line and returns all that comes until its answer is complete.
func (c *client) ask(lines ...string) []string {
	c.t.Helper()
	c.send(append(lines, "PING :fence")...)
	var got []string
	for {
		line := c.line()
		if line == ":s PONG s :fence" {
			return got
		}
		got = append(got, line)
	}
}

// expect sends a line and reads the answer, which must be exactly these lines.
func (c *client) expect(line string, want ...string) {
	c.t.Helper()
	if got := c.ask(line); strings.Join(got, "\n") != strings.Join(want, "\n") {
		c.t.Fatalf("%s sent %.200q and received\n\t%s\nwant\n\t%s", c.nick, line, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// quiet checks that no unread line has arrived.
func (c *client) quiet() {
	c.t.Helper()
	if got := c.ask(); len(got) > 0 {
		c.t.Fatalf("%s received %q, want nothing", c.nick, got)
	}
}

// join joins a channel and reads the answer.
func (c *client) join(channel string) {
	c.t.Helper()
	c.send("JOIN " + channel)
	for line := c.line(); !strings.HasPrefix(line, ":s 366 "); {
		if strings.Contains(line, " 4") && strings.HasPrefix(line, ":s 4") {
			c.t.Fatalf("JOIN %s: %s", channel, line)
		}
		line = c.line()
	}
}

// wantEnd reads the end of the connection.
func (c *client) wantEnd(text string) {
	c.t.Helper()
	nick := c.nick
	if nick == "" {
		nick = "*"
	}
	c.want("ERROR :Closing Link: " + nick + " (" + text + ")")
	c.wantClosed()
}

// wantClosed checks that the server closes the connection and says nothing more.
func (c *client) wantClosed() {
	c.t.Helper()
	line, err := c.tryLine()
	if err == nil {
		c.t.Fatalf("%s received %q, want the end", c.nick, line)
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		c.t.Fatal("the connection is still open")
	}
}

// own returns the prefix of the client's lines as the client itself and operators see
// it.
func (c *client) own() string { return ":" + c.user().clear }

// masked returns the prefix of the client's lines as other users see it.
func (c *client) masked() string { return ":" + c.user().masked }

// user returns the user of the client.
func (c *client) user() *user {
	c.t.Helper()
	h := c.f.server.hall
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.nicks[foldNick(c.nick)]
	if u == nil {
		c.t.Fatalf("%s is not signed on", c.nick)
	}
	return u
}

// eventually waits until a condition is true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(timeout); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not %s", what)
		}
	}
}
