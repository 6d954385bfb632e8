package utmaster

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// home is the address of the peer of the tests.
var home = netip.MustParseAddr("192.0.2.10")

// testGames are the games of the tests.
func testGames(t testing.TB) *games.Catalog {
	t.Helper()
	c, err := games.NewCatalog([]games.Game{
		{Name: "ut2", ID: 634, Facts: games.Facts{Epic: []games.Epic{{Versions: [2]int{2000, 2225}}}}},
		{Name: "u2xmp", Facts: games.Facts{Epic: []games.Epic{{Versions: [2]int{2226, 2226}}}}},
		{Name: "ut2004", ID: 837, Facts: games.Facts{Epic: []games.Epic{{Word: "UT2K4", Versions: [2]int{3000, 3999}}, {Versions: [2]int{3000, 3999}}}}},
		{Name: "redorchestra", Facts: games.Facts{Epic: []games.Epic{{Word: "RO", Versions: [2]int{3000, 3999}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fixture is a master of the tests, in a bubble of synctest.
type fixture struct {
	t    *testing.T
	srv  *Server
	reg  *master.Registry
	pipe *nettest.Pipes
	prom *prometheus.Registry
	log  *verdicts.Log

	mu   sync.Mutex
	sent []sentPacket
}

// sentPacket is a datagram of the master.
type sentPacket struct {
	to   netip.AddrPort
	data string
}

// WritePacket implements netserve.PacketWriter.
func (f *fixture) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, sentPacket{to, string(data)})
	return nil
}

// asked returns the datagrams that the master sent, and forgets them.
func (f *fixture) asked() []sentPacket {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.sent
	f.sent = nil
	return out
}

// inBubble runs a test with a master.
func inBubble(t *testing.T, change func(*Options), do func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, reg: master.NewRegistry(master.Limits{}), pipe: nettest.NewPipes(), prom: prometheus.NewRegistry()}
		f.log = verdicts.NewLog(zerolog.Nop(), 100)
		opt := Options{
			Config: defaults(), Listing: part.Listing{Registry: f.reg, Games: testGames(t)}, MOTD: func(string) string { return "Welcome" },
			Peers: part.Peers{Verdicts: f.log}, Players: f.log,
			Self: part.Self{Metrics: netserve.NewMetrics(f.prom, serviceName, reasons...), Registerer: f.prom},
		}
		if change != nil {
			change(&opt)
		}
		f.srv = New(opt)
		f.srv.packets = f
		ctx, cancel := context.WithCancel(t.Context())
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := f.srv.serveConns(ctx, f.pipe); err != nil {
				t.Error(err)
			}
		})
		defer serving.Wait()
		defer cancel()
		do(f)
	})
}

// defaults returns the default settings.
func defaults() (c Config) {
	configs.Defaults(&c)
	return c
}

// dropped returns how often connections or messages were dropped for a reason.
func (f *fixture) dropped(why ended) int {
	f.t.Helper()
	synctest.Wait()
	n, _ := metrictest.Find(f.t, f.prom, "respawnd_dropped_total", why.Error())
	return int(n)
}

// verdict returns the last verdict on an address.
func (f *fixture) verdict(a netip.AddrPort) string {
	synctest.Wait()
	for _, e := range f.log.Recent(100) {
		if e.Addr == a {
			return e.Verdict.String()
		}
	}
	return "none"
}

// say sends a datagram to the master from a port of home.
func (f *fixture) say(port uint16, data []byte) ended {
	f.t.Helper()
	synctest.Wait()
	why := f.srv.packet(netserve.Packet{Data: data, From: netip.AddrPortFrom(home, port)})
	if why != notDropped {
		f.srv.opt.Metrics.Drop(why.Error())
	}
	synctest.Wait()
	return why
}

// peer is a connection to the master.
type peer struct {
	f    *fixture
	conn net.Conn
}

// connect opens a connection from home.
func (f *fixture) connect() *peer { return f.connectFrom(netip.AddrPortFrom(home, 40000)) }

func (f *fixture) connectFrom(a netip.AddrPort) *peer {
	f.t.Helper()
	conn, err := f.pipe.DialFrom(a)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = conn.Close() })
	return &peer{f, conn}
}

// read reads a message with its length.
func (p *peer) read() []byte {
	p.f.t.Helper()
	var head [4]byte
	if _, err := io.ReadFull(p.conn, head[:]); err != nil {
		p.f.t.Fatal(err)
	}
	b := make([]byte, binary.LittleEndian.Uint32(head[:]))
	if _, err := io.ReadFull(p.conn, b); err != nil {
		p.f.t.Fatal(err)
	}
	return append(head[:], b...)
}

// want reads messages and compares them.
func (p *peer) want(want []byte) {
	p.f.t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(p.conn, got); err != nil || !bytes.Equal(got, want) {
		p.f.t.Fatalf("the master sent %x, %v, want %x", got[:n], err, want)
	}
}

// write sends bytes.
func (p *peer) write(b []byte) {
	p.f.t.Helper()
	if _, err := p.conn.Write(b); err != nil {
		p.f.t.Fatal(err)
	}
}

// send sends bytes, from any goroutine.
func (p *peer) send(b []byte) {
	if _, err := p.conn.Write(b); err != nil {
		p.f.t.Error(err)
	}
}

// ended checks that the master closes the connection without sending more.
func (p *peer) ended() {
	p.f.t.Helper()
	rest, err := io.ReadAll(p.conn)
	if len(rest) > 0 || err != nil && !strings.Contains(err.Error(), "closed") {
		p.f.t.Errorf("the master sent %x, %v, want the end", rest, err)
	}
}

// signIn signs in.
func (p *peer) signIn(h Hello) {
	p.f.t.Helper()
	p.read()
	if h.KeyHash == "" {
		h.KeyHash, h.Response = digest(DefaultKey), digest("x")
	}
	p.write(h.AppendTo(nil))
}

// server is a game server of the tests.
type server struct {
	*peer
	version int32
	code    int32
}

// host opens a game server up to its probes.
func (f *fixture) host(version int32, m Mode) *server {
	f.t.Helper()
	return f.hostFrom(netip.AddrPortFrom(home, 40000), version, m)
}

func (f *fixture) hostFrom(a netip.AddrPort, version int32, m Mode) *server {
	f.t.Helper()
	p := f.connectFrom(a)
	p.signIn(Hello{Word: "SERVER", Version: version, Statistics: -1})
	p.want(appendWord(nil, wordApproved))
	p.write(m.AppendTo(nil))
	s := &server{peer: p, version: version}
	probes := 2 + int(number(m.GameSpy))
	for i := range probes {
		q, _, isProbe, err := parseAsk(p.read()[frameHead:])
		if err != nil || !isProbe || int(q.Socket) != i {
			f.t.Fatalf("probe %d: %+v %v, %v", i, q, isProbe, err)
		}
		s.code = q.Code
	}
	return s
}

// prove answers the probes of a server on a game port and returns its ports.
func (s *server) prove(game uint16, m Mode) Ports {
	s.f.t.Helper()
	for i, port := range []uint16{game + 1, game, game + 10}[:2+number(m.GameSpy)] {
		if why := s.f.say(port, appendProbeReply(nil, udp2003, Probe{byte(i), s.code})); why != notDropped {
			s.f.t.Fatalf("answer to probe %d: %v", i, why)
		}
	}
	return s.ports()
}

func (s *server) ports() Ports {
	s.f.t.Helper()
	_, ports, isProbe, err := parseAsk(s.read()[frameHead:])
	if err != nil || isProbe {
		s.f.t.Fatalf("ports: %v", err)
	}
	return ports
}

// report sends a state.
func (s *server) report(change func(*State)) {
	s.f.t.Helper()
	st := State{Port: 7777, Name: "Test", Map: "DM-Rankin", GameType: "xDeathMatch", Players: 3, Max: 16, Skill: "0"}
	if change != nil {
		change(&st)
	}
	s.write(st.AppendTo(nil, s.version))
	synctest.Wait()
}

// listed opens a server and has it listed.
func (f *fixture) listed(version int32, game uint16, change func(*State)) *server {
	f.t.Helper()
	s := f.host(version, Mode{})
	s.prove(game, Mode{})
	s.report(func(st *State) {
		st.Port = int32(game)
		if change != nil {
			change(st)
		}
	})
	if _, ok := f.reg.Find(netip.AddrPortFrom(home, game+1)); !ok {
		f.t.Fatal("the server is not listed")
	}
	return s
}

// browse requests a list.
func (f *fixture) browse(b Browser, filters ...Filter) []Entry {
	f.t.Helper()
	list, err := b.List(f.t.Context(), f.connect().conn, filters...)
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

// modernBrowser is a browser of Unreal Tournament 2004.
var modernBrowser = Browser{Version: 3369, Word: "UT2K4"}

// put lists a server without a connection; rules are names and values in turn.
func put(t testing.TB, reg *master.Registry, game, public string, origin *master.Origin, rules ...string) {
	t.Helper()
	a := netip.MustParseAddrPort(public)
	s := master.Server{Key: master.Key{Source: a, Instance: 1}, Game: game, Public: a, Origin: origin, Seen: time.Now()}
	var names, values []string
	for i := 0; i+1 < len(rules); i += 2 {
		names, values = append(names, rules[i]), append(values, rules[i+1])
	}
	var report master.Report
	report.Fill(reg, names, values, master.Grid{}, master.Grid{})
	if err := report.Into(&s); err != nil {
		t.Fatal(err)
	}
	if err := reg.Put(s); err != nil {
		t.Fatal(err)
	}
}
