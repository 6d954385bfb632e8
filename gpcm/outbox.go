package gpcm

import (
	"sync"

	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/internal/wake"
)

// Bounds of the queue of one client.
const (
	maxQueue       = 1024      // items
	maxQueueBytes  = 256 << 10 // rough size of their texts
	itemOverhead   = 64        // weight of an item without its texts
	coalesceFrom   = 32        // waiting items from which on older statuses are looked for
	keepItems      = 4         // room for items that an idle session keeps
	maxWriteBuffer = 32 << 10  // approximate number of bytes per write
)

// item is something that waits to be written: an event, or bytes that are
// finished.
type item struct {
	event presence.Event // nil: line
	line  []byte
}

func (i item) weight() int {
	w := itemOverhead + len(i.line)
	switch e := i.event.(type) {
	case presence.Message:
		w += len(e.Text)
	case presence.BuddyRequest:
		w += len(e.Reason)
	case presence.StatusChanged:
		w += len(e.Status.Text) + len(e.Status.Location)
		if r := e.Status.Rich; r != nil {
			w += len(r.Text) + len(r.GameType) + len(r.GameVariant) + len(r.GameMap)
		}
	case presence.Invite:
		w += len(e.Location)
	}
	return w
}

// about returns the profile that an event is about, 0 if none.
func about(e presence.Event) (id uint32, status bool) {
	switch e := e.(type) {
	case presence.StatusChanged:
		return uint32(e.From), true
	case presence.BuddyRequest:
		return uint32(e.From), false
	case presence.BuddyAuthorized:
		return uint32(e.From), false
	case presence.BuddyRevoked:
		return uint32(e.From), false
	}
	return 0, false
}

// taken is the result of queuing an event.
type taken uint8

const (
	takenYes  taken = iota
	takenBusy       // no room for an event of that kind; the session continues
	takenFull       // no room at all
	takenOver       // the session is over
)

// outbox is the queue between the senders of messages to a client and the
// goroutine that writes them. That goroutine only exists while the queue is not
// empty: thousands of clients are idle at a time.
type outbox struct {
	drained chan struct{} // full when the writer has taken the queue

	mu      sync.Mutex // guards the fields below
	start   func()     // starts the writer; nil: not yet, events wait
	writing bool       // the writer is there
	items   []item
	weight  int
	looking bool // the writer must run although nothing waits
	closed  bool
	last    []byte // written last
}

func newOutbox() outbox {
	return outbox{drained: make(chan struct{}, 1)}
}

// offer queues an event from another session. It never waits.
func (o *outbox) offer(e presence.Event) taken {
	next := item{event: e}
	weight := next.weight()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return takenOver
	}
	if o.replace(next, weight) {
		return takenYes
	}
	if o.over(1, weight) {
		return takenFull
	}
	switch e.(type) {
	case presence.Message, presence.Invite, presence.BuddyRequest:
		if o.over(2, weight) {
			return takenBusy
		}
	}
	o.add(next, weight)
	return takenYes
}

// over reports whether with one more item more than 1/part of the room is
// taken.
func (o *outbox) over(part, weight int) bool {
	return len(o.items) >= maxQueue/part || o.weight+weight > maxQueueBytes/part
}

// replace puts a status in the place of an older one of the same profile, unless
// something that changes the list came in between.
func (o *outbox) replace(next item, weight int) bool {
	id, status := about(next.event)
	if !status || len(o.items) < coalesceFrom {
		return false
	}
	for i := len(o.items) - 1; i >= 0; i-- {
		other, olderStatus := about(o.items[i].event)
		if other != id {
			continue
		}
		if !olderStatus {
			return false
		}
		o.weight += weight - o.items[i].weight()
		o.items[i] = next
		return true
	}
	return false
}

func (o *outbox) add(next item, weight int) {
	o.items = append(o.items, next)
	o.weight += weight
	o.work()
}

// work starts the writer if there is something for it. The lock is held, so
// that after close it is not started.
func (o *outbox) work() {
	if o.start != nil && !o.writing && (len(o.items) > 0 || o.last != nil || o.looking) {
		o.writing = true
		o.start()
	}
}

// open lets the writer begin; start is called each time when there is something
// to write and no writer, with a lock held.
func (o *outbox) open(start func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.start = start
	o.work()
}

// look starts the writer to check the flight, even if there is nothing to
// write.
func (o *outbox) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.looking = true
		o.work()
	}
}

// push queues an answer for the client. It always has room: the caller calls
// waitHalf first.
func (o *outbox) push(next item) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.add(next, next.weight())
	}
}

// waitHalf waits until the queue is at most half full, or done ends.
func (o *outbox) waitHalf(done <-chan struct{}) {
	for o.half() {
		select {
		case <-o.drained:
		case <-done:
			return
		}
	}
}

func (o *outbox) half() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.closed && o.over(2, 0)
}

// take returns all waiting items, and the last text if the box is closed, and
// reuses slack for new items. If more is false there is nothing, and the writer
// must end.
func (o *outbox) take(slack []item) (items []item, last []byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wake.Up(o.drained)
	looking := o.looking
	o.looking = false
	if len(o.items) == 0 && o.last == nil && !looking {
		o.writing = false
		if cap(o.items) == 0 {
			o.items = slack
		}
		return nil, nil, false
	}
	items, o.items, o.weight = o.items, slack, 0
	last, o.last = o.last, nil
	return items, last, true
}

// close ends the queue. Waiting data is still written, and last after it.
func (o *outbox) close(last []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed, o.last = true, last
	o.work()
}

// buffers is a pool of buffers for writing messages.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *[]byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return p
	}
	return new([]byte)
}

func (b *buffers) put(p *[]byte) {
	if cap(*p) <= 2*maxWriteBuffer {
		*p = (*p)[:0]
		b.pool.Put(p)
	}
}

// recycle clears items and returns them as slack.
func recycle(items []item) []item {
	if cap(items) > keepItems {
		return nil
	}
	clear(items)
	return items[:0]
}
