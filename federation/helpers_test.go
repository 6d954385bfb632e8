package federation

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	_ "github.com/respawnd/respawnd/codmaster" // protocols of other masters, as the next ones
	"github.com/respawnd/respawnd/configs"
	_ "github.com/respawnd/respawnd/idmaster"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/played"
	"github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/master"
	_ "github.com/respawnd/respawnd/master/legacylist"
	_ "github.com/respawnd/respawnd/master/serverbrowse"
	_ "github.com/respawnd/respawnd/q2master"
	_ "github.com/respawnd/respawnd/q3master"
	_ "github.com/respawnd/respawnd/qwmaster"
	_ "github.com/respawnd/respawnd/utmaster"
	_ "github.com/respawnd/respawnd/valvemaster"
	_ "github.com/respawnd/respawnd/zanmaster"
)

// prober is an asker that lists each watched server at once, unless it is silent.
type prober struct {
	list *master.Registry

	mu      sync.Mutex // guards the fields below
	watched map[netip.AddrPort]service.Candidate
	asked   []netip.AddrPort
	full    bool
}

func (p *prober) Consider(c service.Candidate) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full {
		return master.ErrFull
	}
	p.watched[c.Address] = c
	p.asked = append(p.asked, c.Address)
	return p.list.Put(master.Server{
		Key: master.Key{Source: c.Address, Instance: 7}, Game: "gmtest", Origin: master.Federated, Public: c.Address, Told: c.Told,
	})
}

func (p *prober) Watches(a netip.AddrPort, _ *master.Origin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.watched[a]
	return ok
}

func (p *prober) Answers(a netip.AddrPort) bool { return p.Watches(a, master.Federated) }

func (p *prober) Unwatch(a netip.AddrPort, _ *master.Origin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watched, a)
	p.list.Remove(master.Key{Source: a, Instance: 7})
}

// give up forgets a server that is silent.
func (p *prober) giveUp(a netip.AddrPort) { p.Unwatch(a, master.Federated) }

func (p *prober) all() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for a, c := range p.watched {
		list = append(list, a.String()+" "+c.Protocol+" "+c.Told)
	}
	slices.Sort(list)
	return list
}

// bench is a table with its dependencies.
type bench struct {
	*table
	prober  *prober
	list    *master.Registry
	live    atomic.Pointer[settings]
	self    string
	dataDir string
	reports *played.Table
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
}

func newBench(t testing.TB) *bench {
	t.Helper()
	list := master.NewRegistry(master.Limits{PerAddr: 1 << 16, PerNet: 1 << 16})
	catalogue, err := games.NewCatalog([]games.Game{{Name: "gmtest", Secrets: []string{"HA6zkS"}}, {Name: "ut", Secrets: []string{"Z5Nfb0"}}, {Name: "ut2004", Facts: games.Facts{Epic: []games.Epic{{Word: "UT2K4", Versions: [2]int{3000, 3369}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{list: list, prober: &prober{list: list, watched: make(map[netip.AddrPort]service.Candidate)}, self: "self", reports: played.New(nil, nil), dataDir: t.TempDir()}
	b.table = newTable(env{
		Listing: part.Listing{Registry: list, Games: catalogue}, asker: b.prober,
		Peers: part.Peers{
			Own:    func(a netip.AddrPort) bool { return a == netip.MustParseAddrPort("198.51.100.1:27950") },
			Banned: netip.MustParsePrefix("203.0.113.0/24").Contains,
		},
		reported: func(a netip.AddrPort) bool {
			srv, ok := list.Find(a)
			return ok && srv.Origin != master.Federated
		},
		metrics: newMetrics(nil, nil), log: zerolog.Nop(),
	})
	b.live.Store(&settings{every: defaultEvery, expire: 3 * defaultEvery, max: 20_000})
	return b
}

const defaultEvery = 5 * 60 * 1e9

// source returns a source of an entry that is not read.
func (b *bench) source(t testing.TB, order int, entry string) *source {
	t.Helper()
	m := parse(t, entry)
	s := newSource(m, order, b.table, &b.live)
	s.fetch = once(func(context.Context, *source, int) error { return nil })
	return s
}

// reader returns a source that reads its master for real.
func (b *bench) reader(t testing.TB, entry string) *source {
	t.Helper()
	s := b.source(t, 0, entry)
	d := &dialer{lookup: b.lookup, own: func(string, netip.AddrPort) bool { return false }}
	s.fetch = newFetcher(&s.master, d, b.Games, b.self, b.dataDir, b.reports)
	t.Cleanup(s.fetch.close)
	return s
}

// tellAll tells servers that a master names.
func tellAll(s *source, list []netip.AddrPort) {
	for _, a := range list {
		s.tell(found{addr: a, query: "quake3"})
	}
}

// parse parses an entry of the configuration.
func parse(t testing.TB, entry string) configs.OtherMaster {
	t.Helper()
	m, err := configs.ParseOtherMaster(entry)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func addr(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

// numbered returns distinct public addresses.
func numbered(n int) []netip.AddrPort {
	list := make([]netip.AddrPort, 0, n)
	for i := range n {
		list = append(list, netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}), 27960))
	}
	return list
}
