package netserve

import (
	"net/netip"
	"sync"
	"time"
)

// Prefix lengths of the networks that a Gate compares if comparing addresses
// finds no connection to evict.
const (
	gateNet4 = 24
	gateNet6 = 48
)

// maxDelay is the longest wait of a connection over the rate of its address.
const maxDelay = 10 * time.Second

// maxEvicted bounds the connections that were evicted but whose handlers have
// not noticed it yet. While there are as many, no other one is evicted.
const maxEvicted = 256

// Refusal is the reason for which a connection is not served. It is the value of
// a metric's label.
type Refusal string

// The refusals.
const (
	RefusedFull    Refusal = "full"        // there are MaxConns, and none can be evicted
	RefusedPerAddr Refusal = "per_address" // its address has MaxPerAddr
	RefusedRate    Refusal = "rate"        // its address opens so many that it would wait for more than ten seconds

	// RefusedStopping is for a connection that waited for its turn until the
	// service stopped.
	RefusedStopping Refusal = "stopping"
)

// OfAddress reports whether the connection's own address caused the refusal.
func (r Refusal) OfAddress() bool { return r == RefusedPerAddr || r == RefusedRate }

// Gate counts the connections of a service and decides on new ones. It may be
// used concurrently, and its limits may be changed at any time. Its memory is
// bounded by the number of connections.
//
// When there are MaxConns of them, a newcomer evicts one of the address with
// most connections, in the order of State, if that address still has more than
// the newcomer's. If no address has that many, networks (an IPv4 /24, an IPv6
// /48) are compared in the same way. Connections in StateProtected, and those
// of exempt addresses, are not counted in this and never evicted.
type Gate struct {
	mu                   sync.Mutex // guards the fields below
	maxConns, maxPerAddr int
	exempt               func(netip.Addr) bool
	rate                 *Limiter
	total                int
	leaving              int // had to give way, and have not left yet
	addrs, nets          crowds
}

// NewGate returns the gate for MaxConns, MaxPerAddr, Rate, Burst and Exempt of
// opt; see ConnOptions.Gate.
func NewGate(opt ConnOptions) *Gate {
	g := &Gate{
		addrs: crowds{by: make(map[netip.Addr]*crowd)},
		nets:  crowds{by: make(map[netip.Addr]*crowd)},
	}
	g.SetLimits(opt)
	return g
}

// SetLimits changes the limits. Open connections stay, and every address starts
// with a full burst.
func (g *Gate) SetLimits(opt ConnOptions) {
	opt = opt.withDefaults()
	rate := NewLimiter(LimiterOptions{Rate: opt.Rate, Burst: opt.Burst})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.maxConns, g.maxPerAddr, g.exempt, g.rate = opt.MaxConns, opt.MaxPerAddr, opt.Exempt, rate
}

// Admission is the answer of a Gate to a newcomer.
type Admission struct {
	Seat    *Seat         // nil: refused
	Refused Refusal       // why
	Delay   time.Duration // wait before it is served

	Full    bool  // there was no room left
	Evicted bool  // another connection was evicted,
	Was     State // which was in this state
	Addrs   int   // if Full: the addresses that have connections
	Most    int   // if Full: the largest number of evictable connections of an address
}

// Enter decides on a newcomer from an address. The caller of an admitted one
// must call Leave on its seat. evict is called, within the Enter of another
// newcomer, if it is evicted: it must end the connection without waiting. It
// may be called before Enter returns.
func (g *Gate) Enter(a netip.Addr, now time.Time, evict func()) Admission {
	return g.enter(new(Seat), a, now, evictFunc(evict))
}

// enter is Enter for a seat that is not in use yet.
func (g *Gate) enter(s *Seat, a netip.Addr, now time.Time, owner evictee) Admission {
	s.gate, s.owner = g, owner
	s.inAddr.seat, s.inNet.seat = s, s
	adm, victim := g.admit(s, a, now)
	if victim != nil {
		victim.owner.evict()
	}
	return adm
}

// admit seats s or refuses it. It returns the evicted seat, if any.
func (g *Gate) admit(s *Seat, a netip.Addr, now time.Time) (adm Admission, victim *Seat) {
	addrKey, netKey := countedAddr(a), countedNet(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	addr, network := g.addrs.by[addrKey], g.nets.by[netKey]
	if adm.Full = g.total >= g.maxConns; adm.Full {
		adm.Addrs, adm.Most = len(g.addrs.by), g.addrs.most()
		if victim = g.victim(addr, network); victim == nil {
			adm.Refused = RefusedFull
			return adm, nil
		}
	}
	if g.exempt == nil || !g.exempt(a) {
		if adm.Delay, adm.Refused = g.bound(addr, a, now); adm.Refused != "" {
			return adm, nil
		}
		s.addr, s.net = g.addrs.join(addr, addrKey), g.nets.join(network, netKey)
		g.list(s)
	}
	g.total++
	if victim != nil {
		adm.Evicted, adm.Was = true, victim.state
		g.remove(victim)
		victim.gone = true
		g.leaving++
	}
	adm.Seat = s
	return adm, victim
}

// bound applies the limits per address, whose connections are addr, to a
// newcomer.
func (g *Gate) bound(addr *crowd, a netip.Addr, now time.Time) (delay time.Duration, refused Refusal) {
	if open, _ := addr.size(); open >= g.maxPerAddr {
		return 0, RefusedPerAddr
	}
	delay, ok := g.rate.Reserve(a, now, maxDelay)
	if !ok {
		return 0, RefusedRate
	}
	return delay, ""
}

// victim returns the seat to evict for a newcomer, nil if there is none.
func (g *Gate) victim(addr, network *crowd) *Seat {
	if g.leaving >= maxEvicted {
		return nil
	}
	_, loose := addr.size()
	if v := g.addrs.victim(loose); v != nil {
		return v
	}
	if loose >= g.addrs.most() {
		return nil
	}
	_, loose = network.size()
	return g.nets.victim(loose)
}

func (g *Gate) remove(s *Seat) {
	g.total--
	if s.exempt() {
		return
	}
	g.unlist(s)
	g.addrs.leave(s.addr)
	g.nets.leave(s.net)
}

// list enters a seat under its state, and unlist undoes that.
func (g *Gate) list(s *Seat) {
	g.addrs.put(s.addr, &s.inAddr, s.state)
	g.nets.put(s.net, &s.inNet, s.state)
}

func (g *Gate) unlist(s *Seat) {
	g.addrs.take(s.addr, &s.inAddr, s.state)
	g.nets.take(s.net, &s.inNet, s.state)
}

// Len returns the number of seats taken.
func (g *Gate) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}

// countedAddr returns the address under which connections from a are counted:
// for IPv6 the first of its /64, which usually belongs to one subscriber.
func countedAddr(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	return firstOf(a, DefaultPrefix6)
}

// countedNet returns the first address of the network of a.
func countedNet(a netip.Addr) netip.Addr {
	if a.Is4() {
		return firstOf(a, gateNet4)
	}
	return firstOf(a, gateNet6)
}

// firstOf returns the first address of the prefix of a with that many bits. It is a
// itself if a has no such prefix.
func firstOf(a netip.Addr, bits int) netip.Addr {
	p, err := a.WithZone("").Prefix(bits)
	if err != nil {
		return a
	}
	return p.Addr()
}
