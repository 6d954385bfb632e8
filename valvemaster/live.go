package valvemaster

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
)

const (
	// keyedPerAddr is the number of keyed pages that one address gets in ten
	// seconds.
	keyedPerAddr = 2
	// budgetWindow is the time that the budgets of pages refer to.
	budgetWindow = 10 * time.Second
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
		perAddr:   pageBudget(c.PagesPerAddr, netserve.DefaultPrefix4),
		perNet:    pageBudget(c.PagesPerNet, 24),
		keyedAddr: pageBudget(keyedPerAddr, netserve.DefaultPrefix4),
		keyed:     rate.NewLimiter(rate.Limit(float64(c.KeyedPages)/budgetWindow.Seconds()), c.KeyedPages),
	})
}

// pageBudget bounds the pages for each network of a prefix length; 0 pages: no
// bound.
func pageBudget(pages, bits int) *netserve.Limiter {
	return netserve.NewLimiter(netserve.LimiterOptions{
		Rate: float64(pages) / budgetWindow.Seconds(), Burst: pages, Prefix4: bits,
	})
}

// allowKeyed reports whether an address that proved nothing is sent a full keyed
// page.
func (l *live) allowKeyed(a netip.Addr, now time.Time) bool {
	return l.keyedAddr.Allow(a, now) && l.keyed.AllowN(now, 1)
}

// allowPage takes a page from the budgets and reports whether there was one.
func (l *live) allowPage(a netip.Addr, now time.Time) bool {
	return l.perAddr.Allow(a, now) && l.perNet.Allow(a, now)
}
