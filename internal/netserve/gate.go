package netserve

import (
	"net/netip"
	"sync"
	"time"
)

// gate counts the connections of a service and decides on new ones. It may be
// used concurrently. Its memory is bounded by the number of connections.
type gate struct {
	maxConns, maxPerAddr int
	exempt               func(netip.Addr) bool
	rate                 *Limiter

	mu      sync.Mutex
	total   int
	perAddr map[netip.Addr]int // by counted address
}

// newGate returns the gate for opt, which has its defaults filled in.
func newGate(opt ConnOptions) *gate {
	return &gate{
		maxConns:   opt.MaxConns,
		maxPerAddr: opt.MaxPerAddr,
		exempt:     opt.Exempt,
		rate:       NewLimiter(LimiterOptions{Rate: opt.Rate, Burst: opt.Burst}),
		perAddr:    make(map[netip.Addr]int),
	}
}

// enter admits a connection from a or returns the reason why not. Every
// admitted one must leave.
func (g *gate) enter(a netip.Addr, now time.Time) (refused string) {
	exempt := g.exempt != nil && g.exempt(a)
	key := countedAddr(a)
	g.mu.Lock()
	defer g.mu.Unlock()
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
func (g *gate) leave(a netip.Addr) {
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
