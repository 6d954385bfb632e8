package clustertest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
)

// Bus is one incarnation of a node of a Net. It implements cluster.Bus.
type Bus struct {
	net         *Net
	name        string
	incarnation uint64
	gone        chan struct{} // closed when the node ends
	workers     sync.WaitGroup
	unread      atomic.Int64

	// The fields below are guarded by net.mu.

	dead     bool
	view     map[string]uint64 // incarnations of the live nodes, as this one sees them
	list     []string          // names of view, sorted
	changed  chan struct{}
	missed   map[string]uint64 // incarnations of nodes whose messages were lost while they were not live
	subs     map[string][]*queued
	losses   []*queued
	handlers map[string]*handler
}

type handler struct {
	f func(ctx context.Context, from string, data []byte) ([]byte, error)
}

// message is one that waits for a subscriber.
type message struct {
	from string
	data []byte
	at   time.Time // when it arrives
}

// queued is a subscriber with its queue.
type queued struct {
	f    func(from string, data []byte)
	wait chan message
	end  chan struct{}
	once sync.Once
}

var _ cluster.Bus = (*Bus)(nil)

// Self implements cluster.Bus.
func (b *Bus) Self() string { return b.name }

// Unread implements cluster.Bus.
func (b *Bus) Unread(string, string) { b.unread.Add(1) }

// Unreadable returns how many messages subscribers could not read.
func (b *Bus) Unreadable() int64 { return b.unread.Load() }

// Nodes implements cluster.Bus.
func (b *Bus) Nodes() []string {
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	return b.list
}

// Incarnation implements cluster.Bus.
func (b *Bus) Incarnation(node string) uint64 {
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	return b.view[node]
}

// Changed implements cluster.Bus.
func (b *Bus) Changed() <-chan struct{} {
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	return b.changed
}

// Owner implements cluster.Bus.
func (b *Bus) Owner(key string) string { return cluster.Rendezvous(key, b.Nodes()) }

// learn adds a node, or its new incarnation, to the live ones. net.mu is held.
func (b *Bus) learn(other *Bus) {
	lost := b.missed[other.name] == other.incarnation
	delete(b.missed, other.name)
	b.view[other.name] = other.incarnation
	b.relist()
	if lost {
		b.lost(other.name)
	}
}

// forget removes a node from the live ones. net.mu is held.
func (b *Bus) forget(name string) {
	if _, live := b.view[name]; !live || name == b.name {
		return
	}
	delete(b.view, name)
	b.relist()
}

func (b *Bus) relist() {
	b.list = make([]string, 0, len(b.view))
	for name := range b.view {
		b.list = append(b.list, name)
	}
	slices.Sort(b.list)
	close(b.changed)
	b.changed = make(chan struct{})
}

// lost informs the followers of losses. net.mu is held.
func (b *Bus) lost(from string) {
	for _, q := range b.losses {
		q.put(message{from: from})
	}
}

// Publish implements cluster.Bus.
func (b *Bus) Publish(subject string, data []byte) error {
	return b.send(subject, data, func(to *Bus) bool { return to != b })
}

// Send implements cluster.Bus.
func (b *Bus) Send(node, subject string, data []byte) error {
	if b.Incarnation(node) == 0 {
		mustSubject(subject)
		return cluster.ErrGone
	}
	return b.send(subject, data, func(to *Bus) bool { return to.name == node })
}

func (b *Bus) send(subject string, data []byte, takes func(*Bus) bool) error {
	mustSubject(subject)
	if len(data) > cluster.MaxPayload {
		return cluster.ErrTooLarge
	}
	n := b.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if b.dead {
		return cluster.ErrClosed
	}
	at := time.Now().Add(n.delay)
	for _, to := range n.nodes {
		if takes(to) {
			b.sendTo(to, subject, message{b.name, bytes.Clone(data), at})
		}
	}
	return nil
}

// sendTo delivers or loses a message. net.mu is held.
func (b *Bus) sendTo(to *Bus, subject string, m message) {
	n := b.net
	switch {
	case to.dead:
	case !n.reaches(b, to) || to.view[b.name] != b.incarnation:
		to.missed[b.name] = b.incarnation
	case n.lose != nil && n.lose(b.name, to.name, subject):
		to.lost(b.name)
	default:
		for _, q := range to.subs[subject] {
			if !q.put(m) {
				to.lost(b.name)
			}
		}
	}
}

// put queues a message; false: the queue is full.
func (q *queued) put(m message) bool {
	select {
	case q.wait <- m:
		return true
	default:
		return false
	}
}

// Subscribe implements cluster.Bus.
func (b *Bus) Subscribe(subject string, f func(from string, data []byte)) (cancel func()) {
	mustSubject(subject)
	q := &queued{f: f, wait: make(chan message, queue), end: make(chan struct{})}
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	b.subs[subject] = append(b.subs[subject], q)
	b.start(q)
	return func() {
		b.net.mu.Lock()
		b.subs[subject] = without(b.subs[subject], q)
		b.net.mu.Unlock()
		q.once.Do(func() { close(q.end) })
	}
}

// OnLoss implements cluster.Bus.
func (b *Bus) OnLoss(f func(from string)) (cancel func()) {
	q := &queued{f: func(from string, _ []byte) { f(from) }, wait: make(chan message, queue), end: make(chan struct{})}
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	b.losses = append(b.losses, q)
	b.start(q)
	return func() {
		b.net.mu.Lock()
		b.losses = without(b.losses, q)
		b.net.mu.Unlock()
		q.once.Do(func() { close(q.end) })
	}
}

func without(list []*queued, q *queued) []*queued {
	return slices.DeleteFunc(slices.Clone(list), func(other *queued) bool { return other == q })
}

// start delivers the messages of a queue until it or the node ends. net.mu is held.
func (b *Bus) start(q *queued) {
	if b.dead {
		return
	}
	b.workers.Go(func() {
		for {
			select {
			case <-b.gone:
				return
			case <-q.end:
				return
			case m := <-q.wait:
				if !b.pause(time.Until(m.at)) {
					return
				}
				select {
				case <-q.end:
					return
				default:
					q.f(m.from, m.data)
				}
			}
		}
	})
}

// pause waits; false: the node ended meanwhile.
func (b *Bus) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-b.gone:
		return false
	case <-time.After(d):
		return true
	}
}

// Handle implements cluster.Bus.
func (b *Bus) Handle(subject string, f func(ctx context.Context, from string, data []byte) ([]byte, error)) (cancel func()) {
	mustSubject(subject)
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	if b.handlers[subject] != nil {
		panic("a second handler of " + subject)
	}
	h := &handler{f}
	b.handlers[subject] = h
	return func() {
		b.net.mu.Lock()
		defer b.net.mu.Unlock()
		if b.handlers[subject] == h {
			delete(b.handlers, subject)
		}
	}
}

// Request implements cluster.Bus.
func (b *Bus) Request(ctx context.Context, node, subject string, data []byte) ([]byte, error) {
	mustSubject(subject)
	if len(data) > cluster.MaxPayload {
		return nil, cluster.ErrTooLarge
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	n := b.net
	n.mu.Lock()
	to, delay := n.nodes[node], n.delay
	switch {
	case b.dead:
		n.mu.Unlock()
		return nil, cluster.ErrClosed
	case b.view[node] == 0 || to.dead:
		n.mu.Unlock()
		return nil, cluster.ErrGone
	case n.reaches(b, to):
		h := to.handlers[subject]
		own := bytes.Clone(data)
		to.workers.Go(func() {
			to.pause(delay)
			if h == nil {
				done <- result{nil, cluster.ErrNoHandler}
				return
			}
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			defer context.AfterFunc(ctx, stop)()
			go func() { // ends with ctx
				select {
				case <-to.gone:
					stop()
				case <-ctx.Done():
				}
			}()
			answer, err := h.f(ctx, b.name, own)
			to.pause(delay)
			if err != nil {
				err = &cluster.RemoteError{Node: node, Text: err.Error()}
			}
			if len(answer) > cluster.MaxPayload {
				answer, err = nil, &cluster.RemoteError{Node: node, Text: cluster.ErrTooLarge.Error()}
			}
			n.mu.Lock()
			arrives := n.reaches(b, to)
			n.mu.Unlock()
			if arrives {
				done <- result{bytes.Clone(answer), err}
			}
		})
	}
	n.mu.Unlock()
	for {
		changed := b.Changed()
		if b.Incarnation(node) != to.incarnation {
			return nil, cluster.ErrGone
		}
		select {
		case r := <-done:
			return r.data, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.gone:
			return nil, cluster.ErrClosed
		case <-changed:
		}
	}
}

func mustSubject(subject string) {
	if !cluster.CheckSubject(subject) {
		panic(fmt.Sprintf("bad subject %q", subject))
	}
}
