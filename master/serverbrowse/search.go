package serverbrowse

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// Bounds of player searches.
const (
	maxFound = 50 // answers
	// searchRate is the number of bytes of names that the searches of one
	// address may read per second, and searchBurst at once, also in one search.
	// A byte takes at most two nanoseconds, so an address uses at most a tenth
	// of one processor.
	searchRate  = 50_000_000
	searchBurst = 25_000_000
	// searchBase is the fixed cost of a search in one game, in bytes.
	searchBase = 1000
)

// newSearchBudget returns the budgets of searches, one per address over all its
// connections.
func newSearchBudget() *netserve.Limiter {
	return netserve.NewLimiter(netserve.LimiterOptions{Rate: searchRate, Burst: searchBurst})
}

// search finds players on listed servers by name, for a client. game is the
// game of the connection. ok is false if the budget of the client's address is
// used up.
func (s *Server) search(client netip.Addr, game string, q PlayerSearch) (found []FoundPlayer, ok bool) {
	where := []string{game}
	if q.Options&SearchAllGames != 0 {
		where = s.lists()
	}
	cost := 0
	indexes := make([]*nameIndex, 0, len(where))
	for _, g := range where {
		n := s.names(g)
		if cost += searchBase + len(n.names); cost > searchBurst {
			cost = searchBurst // the players of the other games are not read
			break
		}
		indexes = append(indexes, n)
	}
	if !s.searches.AllowN(client, cost, time.Now()) {
		return nil, false
	}
	most := maxFound
	if q.Max > 0 {
		most = int(min(q.Max, maxFound))
	}
	wanted := master.FoldName(q.Name)
	for i, n := range indexes {
		found = s.findIn(n, where[i], q.Options, wanted, found, most)
	}
	return found, true
}

// lists returns a game of every list that has servers, in order.
func (s *Server) lists() []string {
	names := slices.Collect(maps.Keys(s.opt.Registry.Counts()))
	for i, name := range names {
		if sharing := s.opt.Registry.Sharing(name); sharing != nil {
			names[i] = sharing[0]
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// findIn appends the players of an index whose servers are still listed, up to
// most in total.
func (s *Server) findIn(n *nameIndex, game string, o SearchOption, wanted string, found []FoundPlayer, most int) []FoundPlayer {
	if len(found) == most {
		return found
	}
	var last netip.AddrPort
	var server *master.Server
	sharing := s.opt.Registry.Sharing(game)
	for public, name := range n.find(o, wanted) {
		if public != last {
			last = public
			server, _ = s.opt.Registry.Find(public)
		}
		if server == nil || !server.IsOf(game, sharing) {
			continue
		}
		found = append(found, FoundPlayer{name, public, uint32(server.Seen.Unix()), server.Game})
		if len(found) == most {
			break
		}
	}
	return found
}
