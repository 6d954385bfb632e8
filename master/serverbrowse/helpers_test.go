package serverbrowse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/qr2"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
)

const testSecret = "HA6zkS"

var testChallenge = [8]byte([]byte("gOFezpUs"))

// testGames are the games of the tests.
func testGames(t testing.TB) *games.Catalog {
	t.Helper()
	c, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Title: "Test", Secrets: []string{testSecret}, Rooms: []games.Room{
			{ID: 2157, Name: "Lobby 1", MaxWaiting: 50, Fields: []games.Field{{Key: "roomtype", Value: "casual"}}},
			{ID: 2158, Name: "Lobby 2"},
		}},
		{Name: "other", Title: "Other", Secrets: []string{"abcdef"}, QueryPort: 7777, BackendFlags: games.QueryChallenge},
		{Name: "nokey", Title: "No key"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// put lists a server; rules are names and values in turn. change may be nil.
func put(t testing.TB, reg *master.Registry, game, public string, rules []string, change func(*master.Server)) {
	t.Helper()
	a := netip.MustParseAddrPort(public)
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: a, Instance: 1}, Game: game, Public: a, Seen: time.Unix(1_700_000_000, 0)}
	if change != nil {
		change(&s)
	}
	var rep master.Report
	report(reg, &rep, rules)
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	if err := reg.Put(s); err != nil {
		t.Fatalf("Put(%s): %v", public, err)
	}
}

func report(reg *master.Registry, rep *master.Report, rules []string) {
	var names []string
	for i := 0; i+1 < len(rules); i += 2 {
		names = append(names, rules[i])
		rep.Rule([]byte(rules[i+1]))
	}
	rep.SetRules(reg.Names(names))
}

// putPlayers lists a server with players and teams.
func putPlayers(t testing.TB, reg *master.Registry, game, public string, rules, players, teams []string) {
	t.Helper()
	a := netip.MustParseAddrPort(public)
	s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: a, Instance: 1}, Game: game, Public: a, Country: "DE", Seen: time.Unix(1_700_000_000, 0)}
	var rep master.Report
	report(reg, &rep, rules)
	for _, p := range players {
		rep.Player([]byte(p))
		rep.Player([]byte("7"))
	}
	rep.SetPlayers(reg.Names([]string{"player_", "score_"}), len(players))
	for _, p := range teams {
		rep.Team([]byte(p))
	}
	rep.SetTeams(reg.Names([]string{"team_t"}), len(teams))
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	if err := reg.Put(s); err != nil {
		t.Fatal(err)
	}
}

// fill lists n servers that look like those of a real game.
func fill(t testing.TB, reg *master.Registry, n int) {
	t.Helper()
	maps := []string{"mp_assault", "mp_bunker", "mp_canal", "mp_depot", "mp_harbour", "mp_village"}
	types := []string{"arena", "ctf", "dm", "tdm"}
	for i := range n {
		public := fmt.Sprintf("%d.%d.%d.%d:%d", 20+i/65536/4, i/65536, i/256%256, i%256, 6500+i%3)
		put(t, reg, "gmtest", public, []string{
			"hostname", fmt.Sprintf("Server number %d of some clan", i), "gamever", "1.0", "mapname", maps[i%len(maps)],
			"gametype", types[i%len(types)], "numplayers", fmt.Sprint(i % 17), "maxplayers", "16",
			"hostport", fmt.Sprint(25000 + i%3), "gamemode", "openplaying", "password", fmt.Sprint(i % 2),
			"timelimit", "20", "fraglimit", "50", "teamplay", "1",
		}, func(s *master.Server) {
			s.NATNeg = i%2 == 0
			s.Local = []netip.AddrPort{netip.MustParseAddrPort("192.168.0.2:6500")}
		})
	}
}

const nineFields = `\hostname\gamever\mapname\gametype\numplayers\maxplayers\hostport\gamemode\country`

// fixture is a running service.
type fixture struct {
	reg  *master.Registry
	srv  *Server
	addr string
	dial func() (net.Conn, error)
	stop func() // ends the service and waits for it; it may be called again
}

// start runs a service on a loopback socket.
func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, ln, change)
	f.addr = ln.Addr().String()
	f.dial = func() (net.Conn, error) { return new(net.Dialer).DialContext(t.Context(), "tcp4", f.addr) }
	return f
}

// startPipe runs a service on connections in memory, which synctest can follow.
func startPipe(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln := nettest.NewPipes()
	f := serve(t, ln, change)
	f.dial = ln.Dial
	return f
}

// testConfig returns the defaults, without limits of connections.
func testConfig() (c Config) {
	configs.Defaults(&c)
	c.Rate, c.MaxPerAddr = -1, -1
	return c
}

func serve(t testing.TB, ln net.Listener, change func(*Options)) *fixture {
	t.Helper()
	opt := Options{
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{PerNet: 1 << 20, PerAddr: 1 << 20, Servers: 1 << 20}), Games: testGames(t)},
		Config:  testConfig(),
		Self:    part.Self{Log: zerolog.Nop()},
	}
	if change != nil {
		change(&opt)
	}
	f := &fixture{reg: opt.Registry, srv: New(opt)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.srv.Serve(ctx, ln) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(f.stop)
	return f
}

// browser is a client.
type browser struct {
	t    testing.TB
	conn net.Conn
	dec  *Decoder
}

// connect opens a connection that fails the test rather than hang.
func (f *fixture) connect(t testing.TB) *browser {
	t.Helper()
	c, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, pipe := c.RemoteAddr().(*net.TCPAddr); pipe {
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	}
	return &browser{t: t, conn: c}
}

// request is the request of most tests.
func request(change func(*ListRequest)) ListRequest {
	r := ListRequest{Protocol: 1, Encoding: 3, For: "gmtest", From: "gmtest", Challenge: testChallenge, Fields: `\hostname\numplayers`}
	if change != nil {
		change(&r)
	}
	return r
}

func (b *browser) write(p []byte) {
	b.t.Helper()
	if _, err := b.conn.Write(p); err != nil {
		b.t.Fatalf("write: %v", err)
	}
}

// ask sends a list request and reads the reply.
func (b *browser) ask(r ListRequest) Reply {
	b.t.Helper()
	msg, err := r.AppendTo(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(msg)
	return b.reply(r.Options)
}

func (b *browser) reply(o Option) Reply {
	b.t.Helper()
	if b.dec == nil {
		d, err := NewDecoder(b.conn, testSecret, testChallenge)
		if err != nil {
			b.t.Fatal(err)
		}
		b.dec = d
	}
	reply, err := b.dec.Reply(o)
	if err != nil {
		b.t.Fatalf("reply: %v", err)
	}
	return reply
}

func (b *browser) next() Push {
	b.t.Helper()
	p, err := b.dec.Push()
	if err != nil {
		b.t.Fatalf("next message: %v", err)
	}
	return p
}

// wantClosed fails unless the master closes without another byte.
func (b *browser) wantClosed() {
	b.t.Helper()
	var one [1]byte
	if n, err := b.conn.Read(one[:]); n != 0 || err == nil || isTimeout(err) {
		b.t.Fatalf("read: %d bytes, %v; want the connection closed", n, err)
	}
}

func isTimeout(err error) bool {
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}

// rowsOf returns the servers of a list by address, their values by field.
func rowsOf(r Reply) map[string]map[string]string {
	out := make(map[string]map[string]string)
	for _, e := range r.Entries {
		row := make(map[string]string)
		for i, v := range e.Values {
			row[r.Keys[i].Name] = v
		}
		out[e.Public.String()] = row
	}
	return out
}

// testView builds a view without a service.
func testView(t testing.TB, reg *master.Registry, fields, text string, all bool) (*view, error) {
	t.Helper()
	names, ok := fieldNames(fields)
	if !ok {
		t.Fatal("too many fields")
	}
	f, err := filter.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return new(builder).build(reg, viewKey{game: "gmtest", port: 6500, all: all}, names, f, nil)
}
