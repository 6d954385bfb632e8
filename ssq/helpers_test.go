package ssq

import (
	"bytes"
	"cmp"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	wire "github.com/respawnd/respawnd/internal/ssq"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/zanmaster"
)

// trustedClient needs no proof, strangers do.
var (
	trustedClient = netip.MustParseAddrPort("10.0.0.1:4000")
	stranger      = netip.MustParseAddrPort("198.51.100.7:4000")
)

const password = "correct-horse"

// fixture is a service over a list that the test fills.
type fixture struct {
	t        testing.TB
	registry *master.Registry
	book     *verdicts.Log
	gauges   *prometheus.Registry
	server   *Server
	config   Config

	sent    [][]byte // packets to the client since the last question
	dropped drop     // why the last question was
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	catalog, err := games.NewCatalog([]games.Game{
		{Name: "gmtest", Title: "Test game", Secrets: []string{"sEcr3T1"}, ID: 7, QueryPort: 25000},
		{Name: "gmother", Secrets: []string{"sEcr3T2"}},
	})
	if err != nil {
		t.Fatalf("NewCatalog: %v", err)
	}
	f := &fixture{
		t: t, gauges: prometheus.NewRegistry(), book: verdicts.NewLog(zerolog.Nop(), 0),
		registry: master.NewRegistry(master.Limits{PerAddr: 1 << 20, PerNet: 1 << 20}),
	}
	configs.Defaults(&f.config)
	f.config.Password = password
	f.server = New(Options{
		Listing: part.Listing{Registry: f.registry, Games: catalog}, Peers: part.Peers{Verdicts: f.book, Trusted: func(a netip.Addr) bool { return a == trustedClient.Addr() }, Banned: func(a netip.Addr) bool { return a == netip.MustParseAddr("203.0.113.66") }}, Self: part.Self{Version: "1.2.3", Log: zerolog.Nop(), Metrics: netserve.NewMetrics(f.gauges, "ssq", reasons...), Registerer: f.gauges}, Config: f.config,
	})
	return f
}

// WritePacket implements netserve.PacketWriter.
func (f *fixture) WritePacket(data []byte, _ netip.Addr, _ netip.AddrPort) error {
	f.sent = append(f.sent, bytes.Clone(data))
	return nil
}

// packet has the server handle a datagram.
func (f *fixture) packet(from netip.AddrPort, data []byte) {
	f.sent = nil
	f.dropped = f.server.handle(f, netserve.Packet{Data: data, From: from})
}

// bytesSent returns how much the client was sent for its last question.
func (f *fixture) bytesSent() (n int) {
	for _, p := range f.sent {
		n += len(p)
	}
	return n
}

const testID = 0x5D

// query has the server handle a question.
func (f *fixture) query(from netip.AddrPort, text string) {
	f.packet(from, append(wire.Header{ID: testID, Count: 1}.AppendTo(nil), text...))
}

// answer returns the content of the packets of the last answer.
func (f *fixture) answer() []byte {
	f.t.Helper()
	if len(f.sent) == 0 {
		f.t.Fatalf("no answer, dropped: %q", f.dropped)
	}
	var a wire.Assembly
	for i, p := range f.sent {
		if p[0] != testID || len(p) > wire.MaxPacket {
			f.t.Fatalf("packet %d has ID %d and %d bytes", i, p[0], len(p))
		}
		whole, err := a.Add(p)
		if last := i == len(f.sent)-1; err != nil || whole != last {
			f.t.Fatalf("packet %d of %d: whole %v, error %v", i, len(f.sent), whole, err)
		}
	}
	return a.Answer()
}

// ask returns the answer to a question from a trusted client.
func (f *fixture) ask(text string) wire.Table {
	f.t.Helper()
	f.query(trustedClient, text)
	return f.table(text)
}

// table reads the last answer.
func (f *fixture) table(text string) wire.Table {
	f.t.Helper()
	q, err := wire.ParseQuery([]byte(text))
	if err != nil {
		f.t.Fatalf("%s: %v", text, err)
	}
	t, err := wire.ParseTable(f.answer(), q.Columns())
	if err != nil {
		f.t.Fatalf("%s: answer %q: %v", text, f.answer(), err)
	}
	return t
}

// refusal returns why a question was refused.
func (f *fixture) refusal(text string) string {
	f.t.Helper()
	f.query(trustedClient, text)
	t, err := wire.ParseTable(f.answer(), nil)
	if err != nil || len(t.Columns) != 1 || t.Columns[0] != wire.ErrorColumn || len(t.Rows) != 1 {
		f.t.Fatalf("%s: answer %q, error %v; want a refusal", text, f.answer(), err)
	}
	return t.Rows[0][0]
}

// value returns a counter of the service.
func (f *fixture) value(name string) float64 {
	f.t.Helper()
	return metrictest.Value(f.t, f.gauges, "respawnd_ssq_"+name+"_total")
}

// game is a game server of a test.
type game struct {
	source, public string // public: the source if empty
	game           string // gmtest if empty
	origin         *master.Origin
	rules          []string   // names and values in turn
	players, teams [][]string // the first row has the names of the columns
	change         func(*master.Server)
}

var listedAt = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// list puts a server into the list.
func (f *fixture) list(g game) {
	f.t.Helper()
	s := master.Server{
		Key: master.Key{Source: netip.MustParseAddrPort(g.source), Instance: 4711}, Game: "gmtest", Origin: cmp.Or(g.origin, qr2.Origin),
		First: listedAt, Seen: time.Now(),
	}
	s.Public = s.Key.Source
	if g.public != "" {
		s.Public = netip.MustParseAddrPort(g.public)
	}
	if g.game != "" {
		s.Game = g.game
	}
	var r master.Report
	var names []string
	for i := 0; i < len(g.rules); i += 2 {
		names = append(names, g.rules[i])
		r.Rule([]byte(g.rules[i+1]))
	}
	r.SetRules(f.registry.Names(names))
	fill := func(table [][]string, add func([]byte), set func(*master.Names, int)) {
		if len(table) == 0 {
			return
		}
		for _, row := range table[1:] {
			for _, v := range row {
				add([]byte(v))
			}
		}
		set(f.registry.Names(table[0]), len(table)-1)
	}
	fill(g.players, r.Player, r.SetPlayers)
	fill(g.teams, r.Team, r.SetTeams)
	if err := r.Into(&s); err != nil {
		f.t.Fatal(err)
	}
	if g.change != nil {
		g.change(&s)
	}
	if err := f.registry.Put(s); err != nil {
		f.t.Fatal(err)
	}
}

// threeServers fills the list.
func (f *fixture) threeServers() {
	f.list(game{
		source: "192.0.2.9:7000", public: "192.0.2.9:27015",
		rules: []string{"hostname", "My Server", "mapname", "de_dust", "numplayers", "2", "maxplayers", "16", "hostport", "7777", "password", "1", "secure", "1", "timelimit", "10"},
		players: [][]string{
			{"player_", "score_", "deaths_", "ping_", "time_", "team_", "ip_"},
			{"Bob", "20", "10", "200", "2001", "0", "198.51.100.1"},
			{"Ann", "9", "", "35", "", "1", "198.51.100.2"},
		},
		teams: [][]string{{"team_t", "score_t"}, {"Red", "5"}, {"Blue", "-3"}},
		change: func(s *master.Server) {
			s.Country, s.Region, s.NATNeg, s.Findings.Reached = "DE", "4", true, master.ReachedDirect
			s.Local = []netip.AddrPort{netip.MustParseAddrPort("192.168.1.5:7000"), netip.MustParseAddrPort("10.1.1.1:7000")}
			s.Via = netip.MustParseAddr("192.0.2.254")
		},
	})
	f.list(game{
		source: "192.0.2.10:27015", game: "gmother", origin: zanmaster.Origin,
		rules:   []string{"hostname", "back\\slash\nand line", "mapname", "DE_Dust", "maxplayers", "many", "timelimit", "9", "error", "trick"},
		players: [][]string{{"player_", "frags_", "ping_", "time_"}, {"Cid", "9", "50", "33"}},
	})
	f.list(game{source: "192.0.2.9:27016", rules: []string{"hostname", "Empty", "numplayers", "0", "maxplayers", "8"}})
}
