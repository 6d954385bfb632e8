package netserve

import (
	"net/netip"
	"sync"
	"time"
)

// Gate counts the connections of a service and decides on new ones. It may be
// used concurrently, and its limits may be changed at any time. Its memory is
// bounded by the number of connections.
type Gate struct {
	mu                   sync.Mutex // guards the fields below
	maxConns, maxPerAddr int
	exempt               func(netip.Addr) bool
	rate                 *Limiter
	total                int
	perAddr              map[netip.Addr]int // by counted address
}

// NewGate returns the gate for MaxConns, MaxPerAddr, Rate, Burst and Exempt of
// opt; see ConnOptions.Gate.
func NewGate(opt ConnOptions) *Gate {
	g := &Gate{perAddr: make(map[netip.Addr]int)}
	g.SetLimits(opt)
	return g
}

// SetLimits changes what NewGate was given. Connections that are open stay, and
// every address starts with a whole burst.
func (g *Gate) SetLimits(opt ConnOptions) {
	opt = opt.withDefaults()
	rate := NewLimiter(LimiterOptions{Rate: opt.Rate, Burst: opt.Burst})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.maxConns, g.maxPerAddr, g.exempt, g.rate = opt.MaxConns, opt.MaxPerAddr, opt.Exempt, rate
}

// enter admits a connection from a or returns the reason why not. Every
// admitted one must leave.
func (g *Gate) enter(a netip.Addr, now time.Time) (refused string) {
	key := countedAddr(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	exempt := g.exempt != nil && g.exempt(a)
	switch {
	case g.total >= g.maxConns:
		return refusedFull
	case !exempt && g.perAddr[key] >= g.maxPerAddr:
		return refusedPerAddr
	case !exempt && !g.rate.Allow(a, now):
		return refusedRate
	}
	g.total++
	g.perAddr[key]++
	return ""
}

// leave takes an admitted connection from a out of the count.
func (g *Gate) leave(a netip.Addr) {
	key := countedAddr(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.perAddr[key]--; g.perAddr[key] <= 0 {
		delete(g.perAddr, key)
	}
}

// countedAddr returns the address under which connections from a are counted:
// for IPv6 the first of its /64, which one subscriber has for himself.
func countedAddr(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, err := a.WithZone("").Prefix(DefaultPrefix6)
	if err != nil {
		return a
	}
	return p.Addr()
}
