package daemon

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

// population is a list of games and a catalogue.
type population struct {
	all   map[string]master.Population
	known map[string]bool
}

func (p *population) census() *census {
	return newCensus(func() map[string]master.Population { return p.all }, func(game string) bool { return p.known[game] })
}

// is sets the number of servers of some games and adds them to the catalogue.
func (p *population) is(servers int, games ...string) {
	for _, g := range games {
		p.known[g] = true
		p.all[g] = master.Population{Servers: servers, Players: 10 * servers}
		if servers == 0 {
			delete(p.all, g)
		}
	}
}

func newPopulation() *population {
	return &population{make(map[string]master.Population), make(map[string]bool)}
}

// numbered returns n names of games.
func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s%03d", prefix, i))
	}
	return names
}

func wantCount(t *testing.T, c *census, want map[string]master.Population) {
	t.Helper()
	if got := c.count(); !maps.Equal(got, want) {
		t.Errorf("count() = %v, want %v", got, want)
	}
}

func TestCensus(t *testing.T) {
	p := newPopulation()
	c := p.census()
	wantCount(t, c, map[string]master.Population{"other": {}})

	p.is(2, "quake")
	p.all[`"}<b>`] = master.Population{Servers: 1, Players: 3} // in no catalogue
	p.is(1, "other")                                           // the name of a game
	wantCount(t, c, map[string]master.Population{"quake": {Servers: 2, Players: 20}, "other": {Servers: 2, Players: 13}})

	p.is(0, "quake", "other") // a chart shows zero, and no gap
	wantCount(t, c, map[string]master.Population{"quake": {}, "other": {Servers: 1, Players: 3}})

	p.is(5, "quake")
	delete(p.known, "quake") // a reload took it from the catalogue
	wantCount(t, c, map[string]master.Population{"other": {Servers: 6, Players: 53}})
}

func TestCensusIsBounded(t *testing.T) {
	p := newPopulation()
	c := p.census()
	old := numbered("old", maxGameLabels-1)
	p.is(1, old...)
	c.count()
	p.is(1, "a-small")
	p.is(2, "z-large") // the one label that is left is for the larger of the two
	got := c.count()
	if len(got) != maxGameLabels+1 || got["z-large"].Servers != 2 || got["other"] != (master.Population{Servers: 1, Players: 10}) {
		t.Errorf("%d labels, z-large %v, other %v; want %d, 2 servers, 1 server", len(got), got["z-large"], got["other"], maxGameLabels+1)
	}

	p.is(100, numbered("new", 1000)...)
	p.is(0, "old007")
	c.count()
	p.is(0, "old003", "old009") // empty for a shorter time
	got = c.count()
	labels := slices.Sorted(maps.Keys(got))
	for _, name := range append(old, "z-large") {
		if empty := name == "old007" || name == "old003" || name == "old009"; slices.Contains(labels, name) == empty {
			t.Errorf("the label of %s is there: %v; those with servers stay, those without are replaced", name, !empty == false)
		}
	}
	for _, name := range []string{"new000", "new001", "new002"} {
		if got[name].Servers != 100 {
			t.Errorf("%s has %v, want the label of a game without servers", name, got[name])
		}
	}
	if len(got) != maxGameLabels+1 || got["other"].Servers != 997*100+1 {
		t.Errorf("%d labels, other %v; want %d and %d servers", len(got), got["other"], maxGameLabels+1, 997*100+1)
	}
}

// The label that is free longest is given away first.
func TestCensusReleasesTheOldest(t *testing.T) {
	p := newPopulation()
	c := p.census()
	p.is(1, numbered("old", maxGameLabels)...)
	c.count()
	p.is(0, "old050")
	c.count()
	p.is(0, "old010")
	c.count()
	p.is(1, "new")
	got := c.count()
	_, still := got["old010"]
	if _, gone := got["old050"]; gone || !still || got["new"].Servers != 1 {
		t.Errorf("old050 is there: %v, old010: %v, new: %v; want the label of old050 for new", gone, still, got["new"])
	}
}

func TestCensusIsGathered(t *testing.T) {
	p := newPopulation()
	p.is(3, "quake")
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(p.census())
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(families)
	for _, part := range []string{"respawnd_servers", "respawnd_players", `value:"quake"`, "value:3", "value:30", "at most 200"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

// BenchmarkScrape measures a scrape with the counts of 50,000 servers of 300 games,
// when no server changed.
func BenchmarkScrape(b *testing.B) {
	list := master.NewRegistry(master.Limits{})
	games := numbered("game", 300)
	for i := range 50_000 {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 14), byte(i >> 6), 1}), uint16(1000+i%64))
		if err := list.Put(master.Server{Origin: qr2.Origin, Key: master.Key{Source: at}, Game: games[i%len(games)], Public: at, Seen: time.Now()}); err != nil {
			b.Fatal(err)
		}
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(newCensus(list.Populations, func(string) bool { return true }))
	for b.Loop() {
		if _, err := reg.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
