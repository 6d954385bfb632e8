package qr2

import (
	"container/heap"
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/internal/unproved"
	"github.com/respawnd/respawnd/master"
)

// textHost is a host of the text protocol that is being verified or listed.
type textHost struct {
	key    master.Key     // its address and query port, which lists show
	source netip.AddrPort // of its last heartbeat; often the same
	via    netip.Addr     // our address that it talks to
	game   games.Game
	extra  []query.Field // of its first heartbeat, for fields that its answers lack
	saved  bool          // listed from the saved list; its address was proved before

	listed  bool
	waiting bool           // listed, and an answer is due
	apart   bool           // it does not send proof and status in one answer
	alone   bool           // verifying: the proof is requested without the status
	leaving bool           // its heartbeat may have been the last
	home    netip.AddrPort // the address that proved itself, key.Source or source
	token   string         // echo text of this round, its beginning is the challenge; "": none yet
	named   string         // verifying: the game in a status that came without a proof
	tries   int            // packets of this round
	asked   time.Time      // when it was last asked
	expires time.Time      // when an unproved host is forgotten
	answer  query.Assembly
	held    int // bytes of answer, as counted in textTable.held

	reach textReach

	own   unproved.Budget // of a host of the saved list, which is not among the pending ones
	due   time.Time       // when something has to be done
	place int             // in textTable.queue
}

// textTable holds the hosts of the text protocol.
type textTable struct {
	mu      sync.Mutex                                 // guards the fields below and the hosts; see qr1state.go
	hosts   map[netip.AddrPort]*textHost               // by key.Source
	pending *unproved.Table[netip.AddrPort, *textHost] // those of hosts that are not listed
	waits   map[netip.AddrPort]*textHost               // by address that was asked
	queue   textQueue                                  // all of hosts, by due
	held    int                                        // bytes of answers that are not whole yet
}

// maxHeld bounds the answers that are not whole yet, over all hosts.
const maxHeld = 32 << 20

func newTextTable() textTable {
	return textTable{
		hosts:   make(map[netip.AddrPort]*textHost),
		pending: unproved.NewTable[netip.AddrPort, *textHost](),
		waits:   make(map[netip.AddrPort]*textHost),
	}
}

// pend returns the host of a key that is being verified, a new one if it is
// missing. A listed one that is introduced again starts over. gone is the
// number of others removed if the table is full.
func (t *textTable) pend(k master.Key, limit int) (h *textHost, fresh bool, gone int) {
	if h := t.hosts[k.Source]; h != nil && !h.listed {
		return h, false, 0 // pending, or of the saved list
	}
	gone = t.pending.Evict(k.Source, limit, t.remove)
	if old := t.hosts[k.Source]; old != nil {
		t.remove(old)
	}
	h = &textHost{key: k, source: k.Source}
	t.hosts[k.Source] = h
	t.pending.Add(k.Source, k.Source, h)
	heap.Push(&t.queue, h)
	return h, true, gone
}

// isPending reports whether a host is being verified.
func (t *textTable) isPending(h *textHost) bool {
	other, ok := t.pending.Get(h.key.Source)
	return ok && other == h
}

// settle takes a host out of the pending ones: it is listed.
func (t *textTable) settle(h *textHost) {
	if t.isPending(h) {
		t.pending.Remove(h.key.Source)
	}
}

// budget returns that of an unproved host. It belongs to the address and not to a port:
// the query port is stated in a packet, and a forger could name many.
func (t *textTable) budget(h *textHost) *unproved.Budget {
	if t.isPending(h) {
		return t.pending.AddrBudget(h.key.Source.Addr())
	}
	return &h.own
}

// heard counts the bytes that came from a host.
func (t *textTable) heard(h *textHost, n int) {
	if !h.listed {
		t.budget(h).In += n
	}
}

// spend reports whether n more bytes may be sent to the address of an unproved host, and
// counts them. One query more than it paid for is allowed: a host is asked at two
// addresses, and its heartbeat may be shorter than both queries.
func (t *textTable) spend(h *textHost, n int) bool {
	b := t.budget(h)
	if b.Out+n > b.In+textQuerySize {
		return false
	}
	b.Out += n
	return true
}

func (t *textTable) remove(h *textHost) {
	t.settle(h)
	t.endRound(h)
	if t.hosts[h.key.Source] == h {
		delete(t.hosts, h.key.Source)
		heap.Remove(&t.queue, h.place)
	}
}

// schedule sets when a host is looked at next.
func (t *textTable) schedule(h *textHost, due time.Time) {
	h.due = due
	heap.Fix(&t.queue, h.place)
}

// wait notes that an answer of a host may come from an address. The address of
// another host stays that one's.
func (t *textTable) wait(a netip.AddrPort, h *textHost) bool {
	if a != h.key.Source {
		if other := t.waits[a]; other != nil && other != h && other.key.Source == a {
			return false
		}
	}
	t.waits[a] = h
	return true
}

// unask forgets that an answer of a host may come from an address.
func (t *textTable) unask(a netip.AddrPort, h *textHost) {
	if t.waits[a] == h {
		delete(t.waits, a)
	}
}

// endRound clears the queries and answers of the round.
func (t *textTable) endRound(h *textHost) {
	t.unask(h.key.Source, h)
	t.unask(h.source, h)
	t.unask(h.home, h)
	t.dropAnswer(h)
	h.waiting, h.tries, h.token = false, 0, ""
}

// dropAnswer forgets the packets of an answer.
func (t *textTable) dropAnswer(h *textHost) {
	t.held -= h.held
	h.held = 0
	h.answer.Reset()
}

// textQueue is a heap of hosts by the time at which something has to be done.
type textQueue []*textHost

func (q textQueue) Len() int           { return len(q) }
func (q textQueue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q textQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *textQueue) Push(x any) {
	h := x.(*textHost)
	h.place = len(*q)
	*q = append(*q, h)
}

// Pop implements heap.Interface.
func (q *textQueue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return h
}
