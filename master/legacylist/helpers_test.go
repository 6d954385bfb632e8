package legacylist

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/qr2"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

const testSecret = "HA6zkS"

// testGames are the games of the tests.
func testGames(t testing.TB) *games.Catalog {
	t.Helper()
	c, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Title: "Test", Secrets: []string{"tG3j8c", testSecret}, Rooms: []games.Room{
			{ID: 2157, Name: `Lobby \ 1`, MaxWaiting: 50, Fields: []games.Field{
				{Key: "roomtype", Value: "casual"}, {Key: "password", Value: "1"}, {Key: "lang", Value: "de"},
			}},
			{ID: 2158, Name: "final"},
		}},
		{Name: "unreal", Title: "Unreal", Secrets: []string{"DAncRK"}},
		{Name: "unreal2", Title: "Unreal 2", Secrets: []string{"Yel30yU"}},
		{Name: "locked", Title: "Locked", Secrets: []string{"abcdef"}, Policy: games.Policy{StrictLegacyValidate: games.On}},
		{Name: "open", Title: "Open", Secrets: []string{"fedcba"}, Policy: games.Policy{StrictLegacyValidate: games.Off}},
		{Name: "nokey", Title: "No key"},
		{Name: "empty", Title: "No servers", Secrets: []string{"ghijkl"}},
		{Name: "gamespy2", Title: "A tool", Secrets: []string{"d4kZca"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// put lists a server; rules are names and values in turn.
func put(t testing.TB, reg *master.Registry, game, public string, origin *master.Origin, rules ...string) {
	t.Helper()
	a := netip.MustParseAddrPort(public)
	s := master.Server{
		Key: master.Key{Source: netip.AddrPortFrom(a.Addr(), a.Port()^1), Instance: 1}, Game: game,
		Public: a, Origin: origin, Country: "DE", Seen: time.Now(),
	}
	var rep master.Report
	var names []string
	for pair := range slices.Chunk(rules, 2) {
		names = append(names, pair[0])
		rep.Rule([]byte(pair[1]))
	}
	rep.SetRules(reg.Names(names))
	if err := rep.Into(&s); err != nil {
		t.Fatal(err)
	}
	if err := reg.Put(s); err != nil {
		t.Fatalf("Put(%s): %v", public, err)
	}
}

// fill lists n servers that look like those of a real game.
func fill(t testing.TB, reg *master.Registry, n int) {
	t.Helper()
	for i := range n {
		put(t, reg, "gmtest", fmt.Sprintf("20.%d.%d.%d:%d", i/65536, i/256%256, i%256, 7778+i%3*2), qr2.OldOrigin,
			"hostname", fmt.Sprintf("Server number %d of some clan", i), "mapname", "DM-Deck16][", "gametype", "dm",
			"numplayers", fmt.Sprint(i%17), "maxplayers", "16", "hostport", "7777")
	}
}

// fixture is a running service.
type fixture struct {
	reg     *master.Registry
	srv     *Server
	metrics *prometheus.Registry
	dial    func() (net.Conn, error)
}

// start runs a service on a loopback socket.
func start(t testing.TB, change func(*Options)) *fixture {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, ln, change)
	f.dial = func() (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp4", ln.Addr().String())
		if err == nil {
			err = c.SetDeadline(time.Now().Add(30 * time.Second)) // fail rather than hang
		}
		return c, err
	}
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
	f := &fixture{metrics: prometheus.NewRegistry()}
	opt := Options{
		Listing: part.Listing{Registry: master.NewRegistry(master.Limits{PerNet: 1 << 20, PerAddr: 1 << 20, Servers: 1 << 20}), Games: testGames(t)},
		Config:  testConfig(),
		Self:    part.Self{Log: zerolog.Nop(), Metrics: netserve.NewMetrics(f.metrics, "legacylist", reasons...), Registerer: f.metrics},
	}
	if change != nil {
		change(&opt)
	}
	f.reg, f.srv = opt.Registry, New(opt)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.srv.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return f
}

// client is a server browser.
type client struct {
	t         testing.TB
	conn      net.Conn
	challenge string
}

// connect opens a connection and reads the greeting.
func (f *fixture) connect(t testing.TB) *client {
	t.Helper()
	conn, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var buf [GreetingLen]byte
	if _, err := io.ReadFull(conn, buf[:]); err != nil {
		t.Fatalf("greeting: %v", err)
	}
	c := &client{t: t, conn: conn}
	if c.challenge, err = ParseGreeting(buf[:]); err != nil {
		t.Fatalf("greeting %q: %v", buf, err)
	}
	return c
}

func (c *client) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// rest returns everything that the master sends until it closes its side, and
// closes the other one.
func (c *client) rest() string {
	c.t.Helper()
	all, err := io.ReadAll(c.conn)
	if err != nil {
		c.t.Fatalf("read: %v after %d bytes", err, len(all))
	}
	_ = c.conn.Close()
	return string(all)
}

// ask sends a request and returns the decoded list.
func (c *client) ask(r Request) string {
	c.t.Helper()
	msg, err := r.AppendTo(nil, c.challenge)
	if err != nil {
		c.t.Fatal(err)
	}
	c.say(string(msg))
	list, err := r.Decode(c.challenge, []byte(c.rest()))
	if err != nil {
		c.t.Fatalf("Decode: %v", err)
	}
	return string(list)
}

// request is the request of most tests.
func request(change func(*Request)) Request {
	r := Request{Engine: "gmtest", Secret: testSecret, Game: "gmtest"}
	if change != nil {
		change(&r)
	}
	return r
}

// parsePlain reads a list of mode Plain. The error is ErrList.
func parsePlain(list []byte) ([]netip.AddrPort, error) {
	text, ok := strings.CutSuffix(string(list), gamespy.Final)
	if !ok {
		return nil, ErrList
	}
	var out []netip.AddrPort
	for text != "" {
		if text, ok = strings.CutPrefix(text, `\ip\`); !ok {
			return nil, ErrList
		}
		end := strings.IndexByte(text, '\\')
		if end < 0 {
			end = len(text)
		}
		a, err := netip.ParseAddrPort(text[:end])
		if err != nil {
			return nil, ErrList
		}
		out = append(out, a)
		text = text[end:]
	}
	return out, nil
}

// addressesOf returns the servers of a plain list, sorted.
func addressesOf(t testing.TB, list string) []string {
	t.Helper()
	servers, err := parsePlain([]byte(list))
	if err != nil {
		t.Fatalf("parsePlain(%q): %v", list, err)
	}
	return sorted(servers)
}

func sorted(servers []netip.AddrPort) []string {
	out := []string{}
	for _, s := range servers {
		out = append(out, s.String())
	}
	slices.Sort(out)
	return out
}

// tableOf returns the rows of a table by their first column, each a map from
// column to value.
func tableOf(t testing.TB, list string) map[string]map[string]string {
	t.Helper()
	text, ok := strings.CutSuffix(list, `\final\`)
	if !ok {
		t.Fatalf("table %q has no end mark", list)
	}
	out := make(map[string]map[string]string)
	if text == "" {
		return out
	}
	parts := strings.Split(text, `\`)
	var n int
	if _, err := fmt.Sscan(parts[2], &n); err != nil || parts[1] != "fieldcount" || (len(parts)-3)%n != 0 {
		t.Fatalf("table %q: %v", list, err)
	}
	names := parts[3 : 3+n]
	for row := range slices.Chunk(parts[3+n:], n) {
		m := make(map[string]string)
		for i, v := range row {
			m[names[i]] = v
		}
		out[row[0]] = m
	}
	return out
}
