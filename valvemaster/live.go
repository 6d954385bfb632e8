package valvemaster

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/uplink"
)

const (
	// keyedPerAddr is the number of keyed pages that one address gets in ten
	// seconds.
	keyedPerAddr = 2
)

// live is a Config that is in force, with its budgets. It is not changed.
type live struct {
	*Config
	unproved        *netserve.Limiter // packets to an address that has proved nothing
	perAddr, perNet *netserve.Limiter // pages
	keyedAddr       *netserve.Limiter // full keyed pages
	keyed           *rate.Limiter
}

// Reload applies the live keys at once. Watched servers stay.
func (s *Server) Reload(c *Config) {
	s.live.Store(&live{
		Config:    c,
		unproved:  netserve.NewLimiter(netserve.LimiterOptions{Rate: float64(c.UnprovedRate), Burst: c.UnprovedBurst}),
		perAddr:   uplink.PerWindow(c.PagesPerAddr, netserve.DefaultPrefix4),
		perNet:    uplink.PerWindow(c.PagesPerNet, 24),
		keyedAddr: uplink.PerWindow(keyedPerAddr, netserve.DefaultPrefix4),
		keyed:     rate.NewLimiter(rate.Limit(float64(c.KeyedPages)/uplink.BudgetWindow.Seconds()), c.KeyedPages),
	})
}

// allowKeyed reports whether an address that proved nothing is sent a full keyed
// page.
func (l *live) allowKeyed(a netip.Addr, now time.Time) bool {
	return l.keyedAddr.Allow(a, now) && l.keyed.AllowN(now, 1)
}

func (l *live) allowPage(a netip.Addr, now time.Time) bool {
	return l.perAddr.Allow(a, now) && l.perNet.Allow(a, now)
}
