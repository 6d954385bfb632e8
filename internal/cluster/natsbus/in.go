package natsbus

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/wake"
)

// message is one that waits for a subscriber.
type message struct {
	from string
	data []byte
}

// subscriber is a function with the messages that wait for it.
type subscriber struct {
	f func(from string, data []byte)

	mu     sync.Mutex // guards the fields below
	list   []message
	bytes  int
	closed bool
	wake   chan struct{} // of capacity 1
}

func newSubscriber(f func(from string, data []byte)) *subscriber {
	return &subscriber{f: f, wake: make(chan struct{}, 1)}
}

func (s *subscriber) signal() { wake.Up(s.wake) }

// put queues a message; false: it does not fit.
func (s *subscriber) put(m message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= inMessages || s.bytes+len(m.data) > inBytes {
		return false
	}
	s.list, s.bytes = append(s.list, m), s.bytes+len(m.data)
	s.signal()
	return true
}

func (s *subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.signal()
}

// run calls the function until close.
func (s *subscriber) run() {
	for range s.wake {
		s.mu.Lock()
		list := s.list
		s.list, s.bytes = nil, 0
		s.mu.Unlock()
		for _, m := range list {
			if s.over() {
				return
			}
			s.f(m.from, m.data)
		}
		if s.over() {
			return
		}
	}
}

func (s *subscriber) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Subscribe implements cluster.Bus.
func (b *Bus) Subscribe(subject string, f func(from string, data []byte)) (cancel func()) {
	mustSubject(subject)
	s := newSubscriber(f)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subscribers[subject] = append(b.subscribers[subject], s)
	b.start(s)
	return func() {
		b.mu.Lock()
		b.subscribers[subject] = without(b.subscribers[subject], s)
		b.mu.Unlock()
		s.close()
	}
}

// OnLoss implements cluster.Bus.
func (b *Bus) OnLoss(f func(from string)) (cancel func()) {
	s := newSubscriber(func(from string, _ []byte) { f(from) })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.losses = append(b.losses, s)
	b.start(s)
	return func() {
		b.mu.Lock()
		b.losses = without(b.losses, s)
		b.mu.Unlock()
		s.close()
	}
}

// Unread implements cluster.Bus.
func (b *Bus) Unread(from, subject string) {
	b.metrics.drop(dropMalformed)
	if _, logged := b.unread.LoadOrStore(subject, true); !logged {
		b.log.Warn().Str("node", from).Str("subject", subject).Msg("a message of a node cannot be read; further ones are only counted")
	}
}

// start runs a subscriber. b.mu is held.
func (b *Bus) start(s *subscriber) {
	if b.ctx.Err() != nil {
		s.close()
		return
	}
	b.workers.Go(s.run)
}

func without(list []*subscriber, s *subscriber) []*subscriber {
	return slices.DeleteFunc(slices.Clone(list), func(other *subscriber) bool { return other == s })
}

// receive delivers messages until the Bus closes.
func (b *Bus) receive() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case m := <-b.in:
			b.take(m)
		}
	}
}

// take delivers one message of NATS.
func (b *Bus) take(m *nats.Msg) {
	b.metrics.passed("in", len(m.Data))
	from, subject, stream, ok := b.parse(m.Subject)
	var f frame
	data, err := f.decode(m.Data)
	switch {
	case errors.Is(err, errVersion):
		b.metrics.drop(dropVersion)
	case err != nil || !ok:
		b.metrics.drop(dropMalformed)
	default:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.accept(from, subject, stream, f, data)
	}
}

// The streams of a sender.
const (
	streamAll = iota
	streamTo
	streams
)

// parse divides a subject: all.FROM.SUBJECT or to.SELF.FROM.SUBJECT.
func (b *Bus) parse(subject string) (from, rest string, stream int, ok bool) {
	subject, ok = strings.CutPrefix(subject, b.prefix)
	kind, rest, found := strings.Cut(subject, ".")
	if kind == "to" {
		stream = streamTo
		_, rest, _ = strings.Cut(rest, ".")
	}
	from, rest, named := strings.Cut(rest, ".")
	return from, rest, stream, ok && found && named && cluster.CheckName(from) == nil && cluster.CheckSubject(rest)
}

// deliver queues a message for its subscribers. b.mu is held.
func (b *Bus) deliver(subject string, m message) {
	for _, s := range b.subscribers[subject] {
		if !s.put(m) {
			b.metrics.drop(dropQueue)
			b.lost(m.from)
		}
	}
}

// lost informs the followers of losses. b.mu is held.
func (b *Bus) lost(from string) {
	b.metrics.losses.Inc()
	for _, s := range b.losses {
		s.put(message{from: from}) // if it is full, many of the same wait
	}
}

func (b *Bus) sendSelf(subject string, data []byte) error {
	if len(data) > cluster.MaxPayload {
		return cluster.ErrTooLarge
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return cluster.ErrClosed
	}
	b.deliver(subject, message{b.opt.Node, bytes.Clone(data)})
	return nil
}
