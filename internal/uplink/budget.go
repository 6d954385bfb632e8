package uplink

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
)

// BudgetWindow is the time that the budgets of networks and of all lists refer to.
const BudgetWindow = 10 * time.Second

// PerWindow returns a limiter of lists in ten seconds, for each network of a prefix length;
// 0 lists: no bound.
func PerWindow(lists, bits int) *netserve.Limiter {
	return netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(lists) / BudgetWindow.Seconds(), Burst: lists, Prefix4: bits})
}

// limits is a Config that is in force, with its budgets. It is not changed.
type limits struct {
	Config
	ListConfig
	games           int               // not in the catalogue
	unproved        *netserve.Limiter // answers that are longer than the request
	perAddr, perNet *netserve.Limiter // lists
	total           *rate.Limiter     // lists to addresses that proved nothing; nil: no bound
}

// Reload applies the live keys at once. Budgets begin full. maxGames bounds the games
// of listed servers that are not in the catalogue.
func (k *Keeper) Reload(c Config, l ListConfig, maxGames int) {
	next := &limits{
		Config: c, ListConfig: l, games: maxGames,
		unproved: netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst}),
		perNet:   PerWindow(l.ListsPerNet, 24),
	}
	if l.ListWindow > 0 {
		next.perAddr = netserve.NewLimiter(netserve.LimiterOptions{Rate: 1 / l.ListWindow.Seconds(), Burst: l.ListBurst})
	}
	if l.ListsTotal > 0 {
		next.total = rate.NewLimiter(rate.Limit(float64(l.ListsTotal)/BudgetWindow.Seconds()), l.ListsTotal)
	}
	k.limits.Store(next)
}

// MayList takes a list from the budgets and reports whether there was one. Addresses of
// listed servers are not bound by the budget in total, trusted ones by none.
func (k *Keeper) MayList(a netip.Addr, now time.Time) bool {
	l := k.limits.Load()
	switch {
	case k.opt.Trusted.Has(a):
		return true
	case !l.perAddr.Allow(a, now), !l.perNet.Allow(a, now):
		return false
	case l.total == nil || k.opt.Registry.HasAt(a):
		return true
	default:
		return l.total.AllowN(now, 1)
	}
}

// MaySend reports whether an answer of some bytes may be sent for a request: it is not
// longer, or its address has an allowance left, which it takes from.
func (k *Keeper) MaySend(a netip.Addr, answer, request int, now time.Time) bool {
	return answer <= request || k.opt.Trusted.Has(a) || k.limits.Load().unproved.Allow(a, now)
}
