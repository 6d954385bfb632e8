package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/master"
)

// maxGameLabels is the number of games with a label of their own in the numbers of
// servers and players. All others together are otherGames.
const maxGameLabels = 200

// otherGames is the label of games without one of their own.
const otherGames = "other"

// census is the numbers of listed servers and of their players by game, for
// Prometheus. A game of the catalogue keeps its label once it has one, with zero
// while it has no servers, so that charts have no gaps; it loses it only to
// another game with servers if all labels are in use. Names of other games are
// chosen by strangers and never become labels.
type census struct {
	populations      func() map[string]master.Population
	known            func(game string) bool
	servers, players *prometheus.Desc

	mu     sync.Mutex        // guards the fields below
	round  uint64            // grows with every call of Collect
	labels map[string]uint64 // the round in which the game last had servers
}

func newCensus(populations func() map[string]master.Population, known func(game string) bool) *census {
	help := func(what string) string {
		return fmt.Sprintf("%s by game: games of the catalogue that have or had servers, at most %d, the first that came; "+
			"the rest together is the game %s.", what, maxGameLabels, otherGames)
	}
	return &census{
		populations: populations, known: known, labels: make(map[string]uint64),
		servers: prometheus.NewDesc("respawnd_servers", help("Listed servers"), []string{"game"}, nil),
		players: prometheus.NewDesc("respawnd_players", help("Players on listed servers"), []string{"game"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *census) Describe(to chan<- *prometheus.Desc) { to <- c.servers; to <- c.players }

// Collect implements prometheus.Collector.
func (c *census) Collect(to chan<- prometheus.Metric) {
	for game, n := range c.count() {
		to <- prometheus.MustNewConstMetric(c.servers, prometheus.GaugeValue, float64(n.Servers), game)
		to <- prometheus.MustNewConstMetric(c.players, prometheus.GaugeValue, float64(n.Players), game)
	}
}

// count returns the numbers by label.
func (c *census) count() map[string]master.Population {
	all := c.populations()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
	c.label(all)
	out := make(map[string]master.Population, len(c.labels)+1)
	for game := range c.labels {
		out[game] = all[game]
	}
	var other master.Population
	for game, n := range all {
		if _, ok := c.labels[game]; !ok {
			other = master.Population{Servers: other.Servers + n.Servers, Players: other.Players + n.Players}
		}
	}
	out[otherGames] = other
	return out
}

// label gives labels to games with servers, those with the most first, and takes
// them from games that left the catalogue.
func (c *census) label(all map[string]master.Population) {
	for game := range c.labels {
		if !c.known(game) {
			delete(c.labels, game)
		}
	}
	var fresh []string
	room := maxGameLabels
	for game := range all {
		if _, ok := c.labels[game]; ok {
			c.labels[game] = c.round
			room--
		} else if game != otherGames && c.known(game) {
			fresh = append(fresh, game)
		}
	}
	if room == 0 {
		return
	}
	slices.SortFunc(fresh, func(a, b string) int {
		return cmp.Or(all[b].Servers-all[a].Servers, cmp.Compare(a, b))
	})
	for _, game := range fresh[:min(room, len(fresh))] {
		if len(c.labels) == maxGameLabels {
			c.release()
		}
		c.labels[game] = c.round
	}
}

// release takes the label from the game that has had no servers for the longest
// time.
func (c *census) release() {
	oldest, found := "", c.round
	for game, round := range c.labels {
		if round < found || round == found && game < oldest {
			oldest, found = game, round
		}
	}
	delete(c.labels, oldest)
}
