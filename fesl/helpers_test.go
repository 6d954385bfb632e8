package fesl

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/stats"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage/records"
)

// The player of the tests.
const (
	testEmail    = "a@b.example"
	testPassword = "secret"
	testPersona  = "Tanya"
	testGame     = "cncra3-pc"
)

// fixture is a running service.
type fixture struct {
	t        testing.TB
	store    *records.Store
	accounts *accounts.Service
	hub      *presence.Local
	server   *Server
	dial     func() (net.Conn, error)
	stop     func() // may be called before the end
}

// start runs a service on a loopback socket.
func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := build(t, change)
	f.dial = func() (net.Conn, error) { return new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String()) }
	f.serve(ln)
	return f
}

// startPipe runs a service on connections in memory, which synctest can follow.
func startPipe(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	pipes := nettest.NewPipes()
	f := build(t, change)
	f.dial = pipes.Dial
	f.serve(pipes)
	return f
}

// defaults returns a configuration of defaults.
func defaults() (c Config) {
	configs.Defaults(&c)
	return c
}

// build makes a service that does not run.
func build(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	store := storetest.New(t)
	service, err := accounts.Open(t.Context(), store, accounts.Options{KeyFile: filepath.Join(t.TempDir(), "account.key")})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := games.NewCatalog([]games.Game{{Name: "redalert3pc"}, {Name: "stella", Facts: games.Facts{Namespace: 12}}, {Name: "bfbc2"}, {Name: "mercs2"}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, store: store, accounts: service, hub: presence.New(store, presence.Options{})}
	mercs := games.Board{Name: "vz", Key: "vz", How: games.BoardLast}
	book := stats.New(store, stats.Options{Boards: func(game string) []games.Board {
		return map[string][]games.Board{"mercs2": {mercs}, "redalert3pc": {mercs}}[game]
	}})
	opt := Options{Stats: book, Store: store, Accounts: service, Self: part.Self{Log: zerolog.Nop()}, Games: catalog, Lobby: new(lobby.Lobby), Attach: f.hub.Attach, Config: defaults()}
	opt.Rate, opt.MaxPerAddr = -1, -1 // no limits
	if change != nil {
		change(&opt)
	}
	f.server = New(opt)
	return f
}

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
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("Serve: %v", err)
		}
	}
	f.t.Cleanup(f.stop)
}

// register makes the account of the tests.
func (f *fixture) register() {
	f.t.Helper()
	_, err := f.accounts.Users.Register(f.t.Context(), accounts.Registration{
		Namespace: 1, Email: testEmail, Nick: testPersona, UniqueNick: testPersona, Password: testPassword, From: netip.MustParseAddr("127.0.0.1"),
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// peer is a client.
type peer struct {
	*Client
	t testing.TB
}

// connect returns a client that has sent nothing.
func (f *fixture) connect() peer {
	f.t.Helper()
	c, err := f.dial()
	if err != nil {
		f.t.Fatal(err)
	}
	p := peer{NewClient(c), f.t}
	f.t.Cleanup(func() { _ = p.Close() })
	return p
}

// greeted returns a client that has said Hello as a game, and answered the first MemCheck.
func (f *fixture) greeted(game string) peer {
	f.t.Helper()
	p := f.connect()
	_, err := p.Hello(f.t.Context(), game)
	if err == nil {
		_, _, err = p.Next(f.t.Context()) // MemCheck
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// signedIn returns a client that has signed in to the account of the tests.
func (f *fixture) signedIn(game string) peer {
	f.t.Helper()
	p := f.greeted(game)
	p.want("acct", "NuLogin", "nuid", testEmail, "password", testPassword)
	return p
}

// want sends a request that must be answered without an error.
func (p peer) want(service, txn string, fields ...string) wire.Text {
	p.t.Helper()
	answer, err := p.Ask(p.t.Context(), service, txn, fields...)
	if err != nil {
		p.t.Fatalf("%s %s: %v", service, txn, err)
	}
	return answer
}

// wantError sends a request that must be answered with an error.
func (p peer) wantError(c code, service, txn string, fields ...string) wire.Text {
	p.t.Helper()
	answer, err := p.Ask(p.t.Context(), service, txn, fields...)
	if why, ok := errors.AsType[*Error](err); !ok || why.Code != int(c) {
		p.t.Errorf("%s %s %q: %v, %v; want error %d", service, txn, fields, answer, err, c)
	}
	return answer
}

// wantEnd waits until the service closes the connection, and returns the last error.
func (p peer) wantEnd() error {
	p.t.Helper()
	for {
		if _, _, err := p.Next(p.t.Context()); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				p.t.Error("the connection is still open")
			}
			return err
		}
	}
}

// write sends bytes.
func (p peer) send(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// examples returns the frames that were worked out by hand.
func examples(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("wire/testdata/examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, name := make(map[string][]byte), ""
	for line := range strings.Lines(string(text)) {
		if line[0] != ' ' {
			name = strings.TrimSpace(line)
			continue
		}
		b, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = append(all[name], b...)
	}
	return all
}

// textOf returns the message of a frame.
func textOf(t testing.TB, b []byte) (wire.Header, wire.Text) {
	t.Helper()
	var in wire.Inbox
	f, err := in.Next(strings.NewReader(string(b)), len(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := wire.ParseText(f.Payload, wire.MaxLines)
	if err != nil {
		t.Fatal(err)
	}
	return f.Header, text
}
