package probe

import (
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
)

// Services that find games by numbers, as their packages declare them.
var (
	_ = games.Declare(games.Kind{Name: "idmaster", Names: true, Query: "idtech4"})
	_ = games.Declare(games.Kind{Name: "nwmaster", Names: true, Query: "nwn"})
)

// there is where most tests have a server.
var there = netip.MustParseAddrPort("192.0.2.1:6500")

// world has game servers on made-up addresses, for a prober without sockets. It is the
// wire: the prober's packets are answered at once, when the test calls for it.
type world struct {
	t   testing.TB
	p   *Prober
	reg *master.Registry

	metrics *prometheus.Registry

	mu      sync.Mutex // guards the fields below
	servers map[netip.AddrPort]probetest.Talk
	wire    []netserve.Packet       // From is where it goes, To where it comes from
	streams map[netip.AddrPort]bool // servers that were asked over TCP last
	asked   map[netip.AddrPort]int
	times   map[netip.AddrPort][]time.Time
}

func (w *world) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wire = append(w.wire, netserve.Packet{Data: slices.Clone(data), From: to, To: from})
	w.asked[to]++
	w.times[to] = append(w.times[to], time.Now())
	return nil
}

// streamWire is the wire of questions over TCP.
type streamWire struct{ *world }

func (s streamWire) WritePacket(data []byte, from netip.Addr, to netip.AddrPort) error {
	s.mu.Lock()
	s.streams[to] = true
	s.mu.Unlock()
	return s.world.WritePacket(data, from, to)
}

// config returns the default configuration.
func config() (c Config) {
	configs.Defaults(&c)
	return c
}

// newWorld makes a prober that serves in a world without servers. Call it in a
// synctest bubble.
func newWorld(t testing.TB, change func(*Options)) *world {
	t.Helper()
	catalogue, err := games.NewCatalog([]games.Game{
		{Name: "plain", Secrets: []string{"secret"}},
		{Name: "nwn", Facts: games.Facts{Needs: []games.Service{"nwmaster"}, Quake3: []games.Quake3{{Name: "nwn", Protocols: []int{0xFD}}}}},
		{Name: "guarded", Secrets: []string{"secret"}, BackendFlags: games.QueryChallenge},
		{Name: "two_words", Secrets: []string{"secret"}},
		{Name: "keyless"},
		{Name: "zandronum"},
	})
	if err != nil {
		t.Fatal(err)
	}
	metrics := prometheus.NewRegistry()
	opt := Options{
		Config: config(), Listing: part.Listing{Registry: master.NewRegistry(master.Limits{}), Games: catalogue}, Peers: part.Peers{Verdicts: verdicts.NewLog(zerolog.Nop(), 0)},
		Self: part.Self{Registerer: metrics, Metrics: netserve.NewMetrics(nil, "probe", DropReasons()...)},
	}
	if change != nil {
		change(&opt)
	}
	w := &world{
		t: t, metrics: metrics, p: New(opt), reg: opt.Registry, servers: make(map[netip.AddrPort]probetest.Talk),
		streams: make(map[netip.AddrPort]bool), asked: make(map[netip.AddrPort]int), times: make(map[netip.AddrPort][]time.Time),
	}
	w.p.streams = streamWire{w}
	w.p.start(w)
	return w
}

// says has a server at an address answer so; nil: it falls silent.
func (w *world) says(at netip.AddrPort, talk probetest.Talk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[at] = talk
}

// deliver has all questions answered, and the questions that follow from that.
func (w *world) deliver() {
	for {
		w.mu.Lock()
		out := w.wire
		w.wire = nil
		w.mu.Unlock()
		if len(out) == 0 {
			return
		}
		for _, q := range out {
			w.mu.Lock()
			talk, stream := w.servers[q.From], w.streams[q.From]
			w.mu.Unlock()
			if talk == nil {
				continue
			}
			for _, a := range talk(q.Data) {
				w.p.take(w, netserve.Packet{Data: a, From: q.From}, stream)
			}
		}
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(tickEvery)
		w.p.tick(time.Now())
		w.deliver()
	}
}

// count returns how many packets were sent to an address since the last call.
func (w *world) count(at netip.AddrPort) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.asked[at]
	w.asked[at] = 0
	return n
}

// watch has a server watched, which must be allowed.
func (w *world) watch(at netip.AddrPort, p Protocol, o *master.Origin) {
	w.t.Helper()
	if err := w.p.Watch(Target{Address: at, Protocol: p, Origin: o}); err != nil {
		w.t.Fatalf("Watch(%v, %v, %v): %v", at, p, o, err)
	}
}

// listed returns the list's entry for an address.
func (w *world) listed(at netip.AddrPort) (*master.Server, bool) { return w.reg.Find(at) }

// rule returns a rule of the server at an address, "" if there is none.
func (w *world) rule(at netip.AddrPort, name string) string {
	srv, ok := w.reg.Find(at)
	if !ok {
		return ""
	}
	value, _ := srv.Rules.Get(name)
	return value
}

// refused returns how many servers were refused for a reason.
func (w *world) refused(reason string) float64 {
	return w.counted("respawnd_probe_refused_total", reason)
}

// counted returns a counter of the prober.
func (w *world) counted(name string, labels ...string) float64 {
	w.t.Helper()
	v, _ := metrictest.Find(w.t, w.metrics, name, labels...)
	return v
}

// put lists a server that reports by itself.
func (w *world) put(srv master.Server) {
	w.t.Helper()
	if !srv.Key.Source.IsValid() {
		srv.Key.Source = srv.Public
	}
	srv.Seen = time.Now()
	if err := w.reg.Put(srv); err != nil {
		w.t.Fatal(err)
	}
}

// rows returns the values of a table.
func rows(t master.Table) (out [][]string) {
	for r := range t.Rows() {
		var row []string
		for c := range t.Columns() {
			row = append(row, t.Value(r, c))
		}
		out = append(out, row)
	}
	return out
}
