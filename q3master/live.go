package q3master

import (
	"net/netip"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/internal/netserve"
)

// budgetWindow is the time that the budgets of networks and of all lists refer to.
const budgetWindow = 10 * time.Second

// live is a Config that is in force, with its budgets. It is not changed.
type live struct {
	*Config
	unproved        *netserve.Limiter // answers that are longer than the heartbeat
	perAddr, perNet *netserve.Limiter // lists
	total           *rate.Limiter     // lists to addresses that proved nothing; nil: no bound
}

// Reload applies the live keys at once. Listed servers stay, but those of games
// that are no longer listed. Budgets begin full.
func (s *Server) Reload(c *Config) {
	next := &live{
		Config:   c,
		unproved: netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst}),
		perNet: netserve.NewLimiter(netserve.LimiterOptions{
			Rate: float64(c.ListsPerNet) / budgetWindow.Seconds(), Burst: c.ListsPerNet, Prefix4: 24,
		}),
	}
	if c.ListWindow > 0 {
		next.perAddr = netserve.NewLimiter(netserve.LimiterOptions{Rate: 1 / c.ListWindow.Seconds(), Burst: c.ListBurst})
	}
	if c.ListsTotal > 0 {
		next.total = rate.NewLimiter(rate.Limit(float64(c.ListsTotal)/budgetWindow.Seconds()), c.ListsTotal)
	}
	s.live.Store(next)
}

// spend takes a list from the budgets and reports whether there was one. proved
// addresses are not bound by the budget in total.
func (l *live) spend(a netip.Addr, proved bool, now time.Time) bool {
	switch {
	case !l.perAddr.Allow(a, now), !l.perNet.Allow(a, now):
		return false
	case proved || l.total == nil:
		return true
	default:
		return l.total.AllowN(now, 1)
	}
}

// allows reports whether servers of a game are listed: game is its name in the
// list of servers, name that in the protocol.
func (l *live) allows(game, name string) bool {
	return len(l.Games) == 0 || slices.ContainsFunc(l.Games, func(g string) bool {
		return ascii.EqualFold(g, game) || ascii.EqualFold(g, name)
	})
}
