package natneg

import "time"

// maxSame is the maximum number of open negotiations with one cookie.
const maxSame = 4

// The wheel of timers: one turn is longer than any wait of a negotiation.
const (
	wheelStep  = 100 * time.Millisecond
	wheelSlots = 512 // 51.2 seconds
)

// table holds the open negotiations. It is not safe for concurrent use, has no
// clock and sends nothing.
type table struct {
	byCookie map[uint32]*negotiation // the newest of a cookie; the older ones follow in place.same
	opened   map[[4]byte]uint32      // negotiations by the address that opened them
	count    int
	waiting  queue // without a partner, oldest first
	met      queue // the others, in the order in which they met
	wheel    [wheelSlots]*negotiation
	turned   int64 // the last step that was looked at
	evicted  uint64
}

// place is where a negotiation is in the table.
type place struct {
	same         *negotiation // next one of the same cookie
	opener       [4]byte
	queue        *queue
	older, newer *negotiation
	slot         int16 // in the wheel; -1: in none
	before, next *negotiation
}

// queue is a list of negotiations by age.
type queue struct{ oldest, newest *negotiation }

func newTable() *table {
	return &table{byCookie: make(map[uint32]*negotiation), opened: make(map[[4]byte]uint32)}
}

// find returns the negotiation that an init belongs to, nil if it begins one. The
// cookie decides. Several negotiations have the same one only by chance or by
// malice; between them the place that the client has decides, then the game, then
// age.
func (t *table) find(cookie uint32, c *call) *negotiation {
	var found *negotiation
	best := suitsNot
	for n := t.byCookie[cookie]; n != nil; n = n.place.same {
		if how := n.suits(c); how >= best && how != suitsNot { // the oldest of equals
			found, best = n, how
		}
	}
	return found
}

// suit is how well a negotiation fits an init with its cookie.
type suit int

const (
	suitsNot      suit = iota // another game has taken the place
	suitsAny                  // the place is free, for another game
	suitsTaken                // another address has taken the place for the game
	suitsGame                 // the place is free, for the game
	suitsAddress              // the address has the place, for another game
	suitsEntirely             // the address has the place for the game
)

func (n *negotiation) suits(c *call) suit {
	claimed, owned, same := false, false, n.plays(c.name)
	if i := int(c.in.Index); i < n.size() {
		s := n.side(i)
		claimed, owned = s.claimed(), s.owns(c.from.ip)
	}
	switch {
	case owned && same:
		return suitsEntirely
	case owned:
		return suitsAddress
	case !claimed && same:
		return suitsGame
	case !claimed:
		return suitsAny
	case same:
		return suitsTaken
	default:
		return suitsNot
	}
}

// plays reports whether a client of the negotiation gave the name of the game.
func (n *negotiation) plays(name uint64) bool {
	for i := range n.size() {
		if s := n.side(i); s.claimed() && s.name == name {
			return true
		}
	}
	return false
}

// findClient returns the negotiation of a cookie in which a client has the
// address, for any game.
func (t *table) findClient(cookie uint32, index byte, from endpoint) *negotiation {
	for n := t.byCookie[cookie]; n != nil; n = n.place.same {
		if int(index) < n.size() && n.side(int(index)).negotiating() == from {
			return n
		}
	}
	return nil
}

// mayOpen reports whether there is room for one more negotiation opened by the
// address; if necessary it drops another one.
func (t *table) mayOpen(cookie uint32, from [4]byte, maxOpen, maxPerAddr int) (refused drop) {
	same := 0
	for n := t.byCookie[cookie]; n != nil; n = n.place.same {
		same++
	}
	switch {
	case same >= maxSame:
		return dropCookieFull
	case int(t.opened[from]) >= maxPerAddr:
		return dropTooMany
	}
	for t.count >= maxOpen {
		victim := t.waiting.oldest
		if victim == nil {
			victim = t.met.oldest
		}
		t.remove(victim)
		t.evicted++
	}
	return notDropped
}

func (t *table) open(n *negotiation, opener [4]byte) {
	n.place.slot = -1
	n.place.opener = opener
	n.place.same = t.byCookie[n.cookie]
	t.byCookie[n.cookie] = n
	t.opened[opener]++
	t.count++
	t.waiting.push(n)
}

// changed puts a negotiation where it belongs after an event.
func (t *table) changed(n *negotiation) {
	if n.phase == phaseOver {
		t.remove(n)
		return
	}
	q := &t.waiting
	if n.phase == phasePaired {
		q = &t.met
	}
	if n.place.queue != q {
		n.place.queue.drop(n)
		q.push(n)
	}
	t.schedule(n)
}

func (t *table) remove(n *negotiation) {
	t.unschedule(n)
	n.place.queue.drop(n)
	if first := t.byCookie[n.cookie]; first != n {
		for first.place.same != n {
			first = first.place.same
		}
		first.place.same = n.place.same
	} else if n.place.same != nil {
		t.byCookie[n.cookie] = n.place.same
	} else {
		delete(t.byCookie, n.cookie)
	}
	if t.opened[n.place.opener]--; t.opened[n.place.opener] == 0 {
		delete(t.opened, n.place.opener)
	}
	t.count--
}

func (t *table) advance(now time.Duration, e *effects) {
	step := int64(now / wheelStep)
	// After a long pause one turn looks at every slot.
	t.turned = max(t.turned, step-wheelSlots)
	for t.turned < step {
		t.turned++
		slot := &t.wheel[t.turned%wheelSlots]
		for n := *slot; n != nil; n = *slot {
			t.unschedule(n)
			n.advance(now, e)
			t.changed(n)
		}
	}
}

// schedule puts a negotiation into the slot of the step in which it is due.
func (t *table) schedule(n *negotiation) {
	due := min(n.due(), never-wheelStep)
	step := int64((due + wheelStep - 1) / wheelStep)
	step = min(max(step, t.turned+1), t.turned+wheelSlots-1)
	slot := int16(step % wheelSlots)
	if slot == n.place.slot {
		return
	}
	t.unschedule(n)
	first := t.wheel[slot]
	n.place.slot, n.place.before, n.place.next = slot, nil, first
	if first != nil {
		first.place.before = n
	}
	t.wheel[slot] = n
}

func (t *table) unschedule(n *negotiation) {
	p := &n.place
	if p.slot < 0 {
		return
	}
	if p.before != nil {
		p.before.place.next = p.next
	} else {
		t.wheel[p.slot] = p.next
	}
	if p.next != nil {
		p.next.place.before = p.before
	}
	p.slot, p.before, p.next = -1, nil, nil
}

func (q *queue) push(n *negotiation) {
	n.place.queue, n.place.older, n.place.newer = q, q.newest, nil
	if q.newest != nil {
		q.newest.place.newer = n
	} else {
		q.oldest = n
	}
	q.newest = n
}

func (q *queue) drop(n *negotiation) {
	p := &n.place
	if p.older != nil {
		p.older.place.newer = p.newer
	} else {
		q.oldest = p.newer
	}
	if p.newer != nil {
		p.newer.place.older = p.older
	} else {
		q.newest = p.older
	}
	p.queue, p.older, p.newer = nil, nil, nil
}
