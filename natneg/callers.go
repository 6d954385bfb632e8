package natneg

import (
	"sync"
	"time"
)

// Bounds of the callers.
const (
	callerLife = 45 * time.Second // after the last packet a caller is kept at least that long, and less than twice
	// maxCallerInits is the number of inits that are kept for a caller: those of all
	// clients of a household.
	maxCallerInits = maxIndexes * portTypes
	// paidPerPacket is how many packets a caller gets for each that came: a receipt and
	// a connect. paidElsewhere are those for packets that came to other nodes, which
	// this one does not know: the inits of port types 2 and 3.
	paidPerPacket = 2
	paidElsewhere = 2
)

// callers are the addresses that sent packets with a cookie to this node of a cluster,
// whichever node has the negotiation. They bound the packets that other nodes may send through this
// one, and keep the inits for the case that the cookie's node leaves. All methods may be called
// concurrently.
type callers struct {
	mu     sync.Mutex // guards the fields below
	now    map[callerKey]*caller
	before map[callerKey]*caller // unseen since the last turn
	turned time.Time
}

type callerKey struct {
	cookie uint32
	ip     [4]byte
}

type caller struct {
	owner string // the node that its packets went to
	came  uint32 // packets
	sent  uint32
	inits []callerInit
}

// callerInit is the latest init of a client for a port type.
type callerInit struct {
	index byte
	port  PortType
	forwarded
}

func newCallers() *callers {
	return &callers{now: make(map[callerKey]*caller), before: make(map[callerKey]*caller)}
}

// turn forgets old callers. c.mu is held.
func (c *callers) turn(now time.Time) {
	switch age := now.Sub(c.turned); {
	case c.turned.IsZero():
		c.turned = now
	case age >= 2*callerLife:
		c.now, c.before, c.turned = make(map[callerKey]*caller), make(map[callerKey]*caller), now
	case age >= callerLife:
		c.now, c.before, c.turned = make(map[callerKey]*caller), c.now, now
	}
}

// of returns a caller, nil if there is none. c.mu is held.
func (c *callers) of(k callerKey, now time.Time) *caller {
	c.turn(now)
	one := c.now[k]
	if one == nil {
		if one = c.before[k]; one != nil {
			delete(c.before, k)
			c.now[k] = one
		}
	}
	return one
}

// heard counts and keeps an init, which goes to owner. It returns false if there are
// too many callers.
func (c *callers) heard(cookie uint32, f *forwarded, in *Init, owner string, most int, now time.Time) bool {
	k := callerKey{cookie, f.from.ip}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of(k, now)
	if one == nil {
		if len(c.now) >= most {
			return false
		}
		one = new(caller)
		c.now[k] = one
	}
	one.owner = owner
	one.came++
	one.keep(f, in)
	return true
}

// keep keeps a copy of an init in place of an earlier one for the same port.
func (c *caller) keep(f *forwarded, in *Init) {
	at := len(c.inits)
	for i := range c.inits {
		if c.inits[i].index == in.Index && c.inits[i].port == in.PortType {
			at = i
		}
	}
	switch {
	case at < len(c.inits):
	case len(c.inits) >= maxCallerInits:
		return
	default:
		c.inits = append(c.inits, callerInit{index: in.Index, port: in.PortType})
	}
	data := append(c.inits[at].data[:0], f.data[:min(len(f.data), maxForwarded)]...)
	c.inits[at].forwarded = *f
	c.inits[at].data = data
}

// count counts a packet that is not an init. It returns false for an address that sent
// no init with the cookie.
func (c *callers) count(cookie uint32, from endpoint, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of(callerKey{cookie, from.ip}, now)
	if one == nil {
		return false
	}
	one.came++
	return true
}

// pay takes one packet from the allowance of a caller. It returns false if there is
// none left, or if nothing came from exactly this address and port.
func (c *callers) pay(cookie uint32, to endpoint, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of(callerKey{cookie, to.ip}, now)
	if one == nil || one.sent >= paidPerPacket*one.came+paidElsewhere || !one.uses(to) {
		return false
	}
	one.sent++
	return true
}

func (c *caller) uses(at endpoint) bool {
	for i := range c.inits {
		if c.inits[i].from == at {
			return true
		}
	}
	return false
}

// unsend has moved return the inits that went to a node.
func (c *callers) unsend(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range []map[callerKey]*caller{c.before, c.now} {
		for _, one := range all {
			if one.owner == node {
				one.owner = ""
			}
		}
	}
}

// movedInit is an init that goes to another node now.
type movedInit struct {
	owner string
	forwarded
}

// moved returns the inits whose cookie belongs to another node than when they came, and
// to which.
func (c *callers) moved(owner func(cookie uint32) string) (list []movedInit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range []map[callerKey]*caller{c.before, c.now} {
		for k, one := range all {
			next := owner(k.cookie)
			if next == one.owner {
				continue
			}
			one.owner = next
			for i := range one.inits {
				f := one.inits[i].forwarded
				f.data = append([]byte(nil), f.data...)
				list = append(list, movedInit{next, f})
			}
		}
	}
	return list
}
