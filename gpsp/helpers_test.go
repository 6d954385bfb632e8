package gpsp

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/storetest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// fixture is a running service.
type fixture struct {
	store    *records.Store
	accounts *accounts.Service
	hub      *presence.Local
	srv      *Server
	metrics  *prometheus.Registry
	dial     func() (net.Conn, error)
}

// newFixture returns a service on an empty store that is not served yet.
func newFixture(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	dir := t.TempDir()
	store := storetest.New(t)
	f := &fixture{store: store, metrics: prometheus.NewRegistry()}
	all, err := accounts.Open(t.Context(), store, accounts.Options{
		KeyFile: filepath.Join(dir, "account.key"), Log: zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.accounts, f.hub = all, presence.New(store, presence.Options{Log: zerolog.Nop()})
	opt := Options{
		Store: store, Accounts: f.accounts, Hub: f.hub, Self: part.Self{Log: zerolog.Nop(), Metrics: netserve.NewMetrics(f.metrics, "gpsp", reasons...), Registerer: f.metrics}, Config: defaults(),
	}
	opt.Rate = -1 // no limit
	if change != nil {
		change(&opt)
	}
	f.srv = New(opt)
	return f
}

// defaults returns a configuration of defaults.
func defaults() (c Config) {
	configs.Defaults(&c)
	return c
}

// reload changes live keys of the service.
func (f *fixture) reload(change func(*Config)) {
	c := f.srv.opt.Config
	change(&c)
	f.srv.Reload(&c)
}

// start runs a service on a loopback socket.
func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, change)
	f.serve(t, ln)
	f.dial = func() (net.Conn, error) { return new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String()) }
	return f
}

// startPipe runs a service on connections in memory, which synctest can follow.
func startPipe(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln := nettest.NewPipes()
	f := newFixture(t, change)
	f.serve(t, ln)
	f.dial = func() (net.Conn, error) { return ln.DialFrom(netip.MustParseAddrPort("192.0.2.1:1000")) }
	return f
}

func (f *fixture) serve(t testing.TB, ln net.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.srv.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// client is a connection to the service.
type client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// hang ends a wait for something that never comes. It decides nothing else.
const hang = 30 * time.Second

// connect opens a connection that fails the test rather than hang.
func (f *fixture) connect(t testing.TB) *client {
	t.Helper()
	c, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, c)
}

func newClient(t testing.TB, c net.Conn) *client {
	t.Cleanup(func() { _ = c.Close() })
	if _, tcp := c.(*net.TCPConn); tcp {
		_ = c.SetDeadline(time.Now().Add(hang))
	}
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(text)); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// reply reads one message, with its \final\.
func (c *client) reply() string {
	c.t.Helper()
	var b strings.Builder
	for !strings.HasSuffix(b.String(), `\final\`) {
		one, err := c.in.ReadByte()
		if err != nil {
			c.t.Fatalf("read: %v after %q", err, b.String())
		}
		b.WriteByte(one)
	}
	return b.String()
}

// ask sends a request and returns the reply.
func (c *client) ask(text string) string {
	c.t.Helper()
	c.send(text)
	return c.reply()
}

// wantClosed fails unless the service closes without another byte.
func (c *client) wantClosed() {
	c.t.Helper()
	if b, err := c.in.ReadByte(); err == nil || isTimeout(err) {
		c.t.Fatalf("read: %q, %v; want the connection closed", b, err)
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// ask is client.ask on a connection of its own.
func (f *fixture) ask(t testing.TB, text string) string {
	t.Helper()
	c := f.connect(t)
	defer func() { _ = c.conn.Close() }()
	return c.ask(text)
}

// player is a session of a profile that is signed in.
type player struct {
	profile storage.ProfileID
	user    storage.UserID
	key     int32
}

func (p *player) Profile() storage.ProfileID { return p.profile }
func (p *player) User() storage.UserID       { return p.user }
func (p *player) Key() int32                 { return p.key }
func (*player) Deliver(presence.Event) bool  { return true }
func (*player) Kick(error)                   {}
func (*player) Client() presence.Client      { return presence.Client{} }

// signIn signs a profile in.
func (f *fixture) signIn(t testing.TB, id storage.ProfileID, key int32, st presence.Status) {
	t.Helper()
	if _, err := f.hub.SignIn(t.Context(), &player{id, storage.UserID(id), key}, presence.KickProfile, st); err != nil {
		t.Fatal(err)
	}
}

// account stores an account with one profile.
func (f *fixture) account(t testing.TB, email, password string, p storage.Profile, change func(*accounts.Account)) {
	t.Helper()
	a := accounts.Account{Email: email, Password: password, Profiles: []accounts.AccountProfile{{Profile: p}}}
	if change != nil {
		change(&a)
	}
	a, err := f.accounts.Transfer.Import(t.Context(), a)
	if err != nil {
		t.Fatalf("import of %s: %v", email, err)
	}
	if err := f.accounts.Transfer.ImportBuddies(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

func unique(names ...any) (out []storage.UniqueNick) {
	for i := 0; i < len(names); i += 2 {
		out = append(out, storage.UniqueNick{Namespace: names[i].(int), Nick: names[i+1].(string)})
	}
	return out
}

// populate makes the people of the scripted dialogues. Alice, Bob and Carol are
// signed in.
func (f *fixture) populate(t testing.TB) {
	t.Helper()
	const shy = ^uint32(8 | 32)
	f.account(t, "alice@example.com", "secret", storage.Profile{
		ID: 1001, Nick: "Alice", UniqueNicks: unique(1, "AliceU"), FirstName: "Al", LastName: "Ice", ICQ: 7, PublicMask: shy,
	}, func(a *accounts.Account) {
		a.Profiles = append(a.Profiles, accounts.AccountProfile{Profile: storage.Profile{ID: 1011, Nick: "Alice2", PublicMask: shy}})
	})
	f.account(t, "Bob@Example.com", "hunter2!", storage.Profile{
		ID: 1002, Nick: "Bob", UniqueNicks: unique(1, "BobU"), LastName: "Builder", PublicMask: shy,
	}, func(a *accounts.Account) { a.Profiles[0].Buddies = []storage.ProfileID{1001} })
	f.account(t, "carol@example.com", "carol", storage.Profile{
		ID: 1003, Nick: "bob", UniqueNicks: unique(1, "CarolU", 15, "CarolU"), LastName: "builder", PublicMask: ^uint32(64),
	}, func(a *accounts.Account) {
		a.Profiles[0].Buddies = []storage.ProfileID{1001, 1002}
		a.Profiles[0].Blocks = []storage.ProfileID{1002}
	})
	f.account(t, "bob@example.com", "ign", storage.Profile{ID: 1004, Nick: "Bob", PublicMask: shy},
		func(a *accounts.Account) { a.Partner = 10 })
	f.signIn(t, 1001, 70001, presence.Status{State: presence.Playing, Text: "Playing/now", Product: 11})
	f.signIn(t, 1002, 70002, presence.Status{State: presence.Away, Text: "AFK", Product: 11})
	f.signIn(t, 1003, 70003, presence.Status{State: presence.Staging, Product: 11, Rich: &presence.Rich{Text: `rich\text`}})
}
