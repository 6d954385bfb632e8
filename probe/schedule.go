package probe

import (
	"container/heap"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
)

// target is an address that is queried, or was recently.
type target struct {
	addr netip.AddrPort

	claims [master.Claims]claim // of the origins that watch it, by their strength
	follow master.Key           // of the record that it belongs to, if followed
	owner  *follower            // whose service its record belongs to; nil: it is not followed

	listed   string // the game under which the Prober lists it; empty: not listed
	silent   int    // visits without an answer since the last one with an answer
	answered bool   // the last visit
	denied   bool   // it denied the query of the last visit
	noted    bool   // there is a verdict
	verdict  verdicts.Verdict
	asked    time.Time
	rulesDue time.Time // when data that changes rarely is requested again
	via      netip.Addr

	due   time.Time // time of the next visit or, during one, of the next look
	place int       // in the queue
	visit *visit    // nil: none is open
	wait  *waiting  // callers that wait for the end of the visit; nil: none
}

// claim is the watch of one origin on a server.
type claim struct {
	origin   *master.Origin // nil: no claim
	protocol Protocol
	game     string
	via      netip.Addr
	told     string
}

// strongest returns the strongest claim, under which the server is listed and in whose protocol
// it is queried. ok is false if there is none.
func (t *target) strongest() (c claim, ok bool) {
	for _, c := range slices.Backward(t.claims[:]) {
		if c.origin != nil {
			return c, true
		}
	}
	return claim{}, false
}

// named reports whether an operator named the server.
func (c claim) named() bool { return c.origin == master.Static }

// protocol returns in which protocol a target is asked, 0 if it is not watched.
func (t *target) protocol() Protocol {
	if t.owner != nil {
		return t.owner.protocol
	}
	c, _ := t.strongest()
	return c.protocol
}

// wanted reports whether a target is visited regularly.
func (t *target) wanted() bool { return t.protocol() != 0 }

// queue holds the targets by the time at which they are due. It implements
// heap.Interface.
type queue []*target

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	t, _ := x.(*target)
	t.place = len(*q)
	*q = append(*q, t)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	last := len(old) - 1
	t := old[last]
	old[last] = nil
	*q = old[:last]
	return t
}

// first returns the target that is due next; nil if there is none.
func (q queue) first() *target {
	if len(q) == 0 {
		return nil
	}
	return q[0]
}

func (q *queue) at(t *target, due time.Time) {
	t.due = due
	heap.Fix(q, t.place)
}

// table holds the targets. The Prober's lock guards it.
type table struct {
	targets map[netip.AddrPort]*target
	queue   queue
	open    map[netip.Addr]int // open visits, by host
	visits  int                // visits under way

	watched  int                // targets that an origin other than static watches
	static   int                // targets that an operator added
	followed map[Protocol]int   // targets whose record belongs to other services
	perAddr  map[netip.Addr]int // watched ones by host
}

func newTable() table {
	return table{
		targets: make(map[netip.AddrPort]*target), open: make(map[netip.Addr]int), perAddr: make(map[netip.Addr]int),
		followed: make(map[Protocol]int),
	}
}

// get returns the target of an address, a new one if there is none.
func (tb *table) get(a netip.AddrPort, due time.Time) *target {
	t := tb.targets[a]
	if t == nil {
		t = &target{addr: a, due: due}
		tb.targets[a] = t
		heap.Push(&tb.queue, t)
	}
	return t
}

// forget removes a target that is no longer needed.
func (tb *table) forget(t *target) {
	heap.Remove(&tb.queue, t.place)
	delete(tb.targets, t.addr)
}

// weak reports whether an origin other than static watches a target.
func (t *target) weak() bool {
	return slices.ContainsFunc(t.claims[:], func(c claim) bool { return c.origin != nil && !c.named() })
}

// set sets or, with the zero claim, removes a claim, and updates the counts.
func (tb *table) set(t *target, at master.Claim, c claim) {
	weak, static := t.weak(), t.claims[master.ClaimNamed].named()
	t.claims[at] = c
	count := func(n *int, before, after bool) {
		switch {
		case after && !before:
			*n++
		case before && !after:
			*n--
		}
	}
	count(&tb.static, static, c.named() || at != master.ClaimNamed && static)
	count(&tb.watched, weak, t.weak())
	switch host := t.addr.Addr(); {
	case t.weak() && !weak:
		tb.perAddr[host]++
	case weak && !t.weak():
		decrement(tb.perAddr, host)
	}
}

// begin records the start of a visit to a target.
func (tb *table) begin(t *target, v *visit) {
	t.visit = v
	tb.visits++
	tb.open[t.addr.Addr()]++
}

// end records the end of the visit to a target.
func (tb *table) end(t *target) {
	t.visit = nil
	tb.visits--
	decrement(tb.open, t.addr.Addr())
}

func decrement(m map[netip.Addr]int, a netip.Addr) {
	if m[a]--; m[a] <= 0 {
		delete(m, a)
	}
}
