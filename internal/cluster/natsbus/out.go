package natsbus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/wake"
)

// outgoing is a message that waits to be sent.
type outgoing struct {
	subject string // of NATS, without the prefix
	data    []byte
}

// outQueue holds messages that wait to be sent. Numbers are given when a message is queued, so
// that the receivers notice those that were dropped afterwards.
type outQueue struct {
	mu      sync.Mutex // guards the fields below
	list    []outgoing
	bytes   int
	all     uint64            // number of the last message to all
	to      map[string]uint64 // of the last one to a node
	closed  bool
	busy    bool          // the writer sends the messages that it took
	waiting chan struct{} // of capacity 1: list is not empty, or closed
}

func newOutQueue() *outQueue {
	return &outQueue{to: make(map[string]uint64), waiting: make(chan struct{}, 1)}
}

func (q *outQueue) wake() { wake.Up(q.waiting) }

// put queues a message to a node, "" for all. make builds the message for its number.
func (q *outQueue) put(node, subject string, size int, build func(number uint64, to map[string]uint64) []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return cluster.ErrClosed
	}
	number := q.all + 1
	if node == "" {
		q.all++
	} else {
		q.to[node]++
		number = q.to[node]
	}
	if len(q.list) >= outMessages || q.bytes+size > outBytes {
		return cluster.ErrBusy
	}
	data := build(number, q.to)
	q.list, q.bytes = append(q.list, outgoing{subject, data}), q.bytes+len(data)
	q.wake()
	return nil
}

// forget drops the count of messages to a node that left for good or restarted.
func (q *outQueue) forget(node string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.to, node)
}

// take returns all that waits, nil after close.
func (q *outQueue) take() []outgoing {
	for {
		<-q.waiting
		q.mu.Lock()
		list, closed := q.list, q.closed
		q.list, q.bytes, q.busy = nil, 0, len(list) > 0
		q.mu.Unlock()
		if closed {
			q.wake()
			return nil
		}
		if len(list) > 0 {
			return list
		}
	}
}

// sent reports that the taken messages are sent.
func (q *outQueue) sent() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
}

// drain waits until nothing waits.
func (q *outQueue) drain(ctx context.Context) {
	for {
		q.mu.Lock()
		empty := len(q.list) == 0 && !q.busy
		q.mu.Unlock()
		if empty {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (q *outQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

// write sends queued messages until the queue closes.
func (b *Bus) write() {
	for {
		list := b.out.take()
		if list == nil {
			return
		}
		for _, m := range list {
			if err := b.conn.Publish(b.prefix+m.subject, m.data); err != nil {
				b.metrics.drop(dropUnsent)
				continue
			}
			b.metrics.passed("out", len(m.data))
		}
		b.out.sent()
	}
}

// Publish implements cluster.Bus.
func (b *Bus) Publish(subject string, data []byte) error {
	return b.send("", "all."+b.opt.Node+"."+mustSubject(subject), data)
}

// Send implements cluster.Bus.
func (b *Bus) Send(node, subject string, data []byte) error {
	mustSubject(subject)
	if node == b.opt.Node {
		return b.sendSelf(subject, data)
	}
	if b.Incarnation(node) == 0 {
		return cluster.ErrGone
	}
	return b.send(node, "to."+node+"."+b.opt.Node+"."+subject, data)
}

func (b *Bus) send(node, subject string, data []byte) error {
	if len(data) > cluster.MaxPayload {
		return cluster.ErrTooLarge
	}
	err := b.out.put(node, subject, len(data), func(number uint64, _ map[string]uint64) []byte {
		return frame{b.incarnation, number}.encode(data)
	})
	if err != nil {
		b.metrics.drop(dropUnsent)
	}
	return err
}

func mustSubject(subject string) string {
	if !cluster.CheckSubject(subject) {
		panic(fmt.Sprintf("bad subject %q", subject))
	}
	return subject
}
