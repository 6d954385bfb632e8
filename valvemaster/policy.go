package valvemaster

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
)

// Defaults and bounds of Policy.
const (
	DefaultTimeout        = 15 * time.Minute
	DefaultServersPerAddr = 32
	DefaultPagesPerAddr   = 256
	DefaultPagesPerNet    = 1024
	DefaultKeyedPages     = 200

	// keyedPerAddr is how many of the keyed pages one address gets in ten seconds.
	keyedPerAddr = 2
	// maxHosts bounds the servers that are watched.
	maxHosts = 1 << 17
	// budgetWindow is what the budgets of pages count in.
	budgetWindow = 10 * time.Second
)

// Policy is what an operator may change while the Server runs. Zero values mean
// the defaults.
type Policy struct {
	// Timeout is the time without a heartbeat after which a server is no longer
	// watched; 0: DefaultTimeout. Servers send one every one to five minutes.
	Timeout time.Duration
	// ServersPerAddr bounds the servers of an address; 0: DefaultServersPerAddr,
	// negative: no bound but the registry's.
	ServersPerAddr int
	// PagesPerAddr and PagesPerNet bound the pages of the list for each address
	// and each /24 in ten seconds; 0: the defaults, negative: no bound.
	PagesPerAddr, PagesPerNet int
	// KeyedPages is how many full pages the browsers of Xash3D at addresses that
	// proved nothing are sent in ten seconds, all together; 0: DefaultKeyedPages,
	// negative: none, they get small ones.
	KeyedPages int

	// Unproved bounds what is sent to an address that has proved nothing, in
	// packets; nil: no bound.
	Unproved *netserve.Limiter
	// Trusted tells which addresses no bound per address binds and whose pages are
	// full from the first on; nil: none.
	Trusted func(netip.Addr) bool
}

// rules are a Policy with its budgets.
type rules struct {
	Policy
	perAddr, perNet *netserve.Limiter // nil: no bound
	keyedAddr       *netserve.Limiter
	keyed           *rate.Limiter
}

func newRules(p Policy) *rules {
	if p.Timeout <= 0 {
		p.Timeout = DefaultTimeout
	}
	if p.ServersPerAddr == 0 {
		p.ServersPerAddr = DefaultServersPerAddr
	}
	if p.PagesPerAddr == 0 {
		p.PagesPerAddr = DefaultPagesPerAddr
	}
	if p.PagesPerNet == 0 {
		p.PagesPerNet = DefaultPagesPerNet
	}
	if p.KeyedPages == 0 {
		p.KeyedPages = DefaultKeyedPages
	}
	return &rules{
		Policy: p, perAddr: budget(p.PagesPerAddr, netserve.DefaultPrefix4), perNet: budget(p.PagesPerNet, 24),
		keyedAddr: budget(keyedPerAddr, netserve.DefaultPrefix4),
		keyed:     rate.NewLimiter(rate.Limit(float64(max(p.KeyedPages, 0))/budgetWindow.Seconds()), max(p.KeyedPages, 0)),
	}
}

// allowKeyed reports whether an address that proved nothing is sent a full keyed
// page.
func (r *rules) allowKeyed(a netip.Addr, now time.Time) bool {
	return r.keyedAddr.Allow(a, now) && r.keyed.AllowN(now, 1)
}

func budget(pages, bits int) *netserve.Limiter {
	if pages < 0 {
		return nil
	}
	return netserve.NewLimiter(netserve.LimiterOptions{
		Rate: float64(pages) / budgetWindow.Seconds(), Burst: pages, Prefix4: bits,
	})
}

func (r *rules) trusts(a netip.Addr) bool { return r.Trusted != nil && r.Trusted(a) }

// allowPage takes a page from the budgets and reports whether there was one.
func (r *rules) allowPage(a netip.Addr, now time.Time) bool {
	return r.perAddr.Allow(a, now) && r.perNet.Allow(a, now)
}
