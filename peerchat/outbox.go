package peerchat

import (
	"sync"

	"github.com/respawnd/respawnd/internal/wake"
)

// Bounds of the queue of one client.
const (
	maxQueueBytes  = 256 << 10 // of lines of others
	maxQueue       = 8192      // such lines
	keepLines      = 4         // room for lines that an idle session keeps
	maxWriteBuffer = 32 << 10  // approximate number of bytes per write
)

// outbox is the queue between the senders of lines to a client and the
// goroutine that writes them. That goroutine exists only while the queue is not
// empty: thousands of clients are idle at a time. Lines are shared between
// queues and never modified.
type outbox struct {
	drained chan struct{} // full when the writer has taken the queue

	mu      sync.Mutex // guards the fields below
	start   func()     // starts the writer; nil: not yet, lines wait
	began   func()     // counts a writer that the caller of offer is
	writing bool       // the writer is there
	lines   [][]byte
	bytes   int
	closed  bool
}

func newOutbox() outbox { return outbox{drained: make(chan struct{}, 1)} }

// offer queues lines from another session. It never waits. ok is false if the queue
// is full. With own, the caller is the writer if there is none: idle reports that it
// must write the queue.
func (o *outbox) offer(line []byte, own bool) (idle, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false, true // it would not be read: the session ends
	}
	if len(o.lines) >= maxQueue || o.bytes+len(line) > maxQueueBytes {
		return false, false
	}
	if own && o.start != nil && !o.writing {
		o.writing, idle = true, true
		o.began()
	}
	o.add(line)
	return idle, true
}

// push queues answers for the client. There is always room: the session waits for
// it before it reads the next command.
func (o *outbox) push(lines []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.add(lines)
	}
}

func (o *outbox) add(line []byte) {
	o.lines = append(o.lines, line)
	o.bytes += len(line)
	o.work()
}

// work starts the writer if there is something for it. The lock is held, so that
// it is not started after close.
func (o *outbox) work() {
	if o.start != nil && !o.writing && len(o.lines) > 0 {
		o.writing = true
		o.start()
	}
}

// open lets the writer begin; start is called each time when there is something
// to write and no writer, with a lock held.
func (o *outbox) open(start, began func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.start, o.began = start, began
	o.work()
}

// take returns all waiting lines, and reuses slack for new ones. If more is
// false there are none, and the writer must end.
func (o *outbox) take(slack [][]byte) (lines [][]byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wake.Up(o.drained)
	if len(o.lines) == 0 {
		o.writing = false
		if cap(o.lines) == 0 {
			o.lines = slack
		}
		return nil, false
	}
	lines, o.lines, o.bytes = o.lines, slack, 0
	return lines, true
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
	return !o.closed && (len(o.lines) >= maxQueue/2 || o.bytes > maxQueueBytes/2)
}

// close ends the queue. Waiting data is still written, and last after it.
func (o *outbox) close(last []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	if len(last) > 0 {
		o.add(last)
	}
}

// recycle clears lines and returns them as slack.
func recycle(lines [][]byte) [][]byte {
	if cap(lines) > keepLines {
		return nil
	}
	clear(lines)
	return lines[:0]
}
