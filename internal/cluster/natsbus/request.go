package natsbus

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/respawnd/respawnd/internal/clock"
	"github.com/respawnd/respawnd/internal/cluster"
)

var errJoining = errors.New("this node has not joined the cluster yet")

type handler struct {
	f func(ctx context.Context, from string, data []byte) ([]byte, error)
}

// Handle implements cluster.Bus.
func (b *Bus) Handle(subject string, f func(ctx context.Context, from string, data []byte) ([]byte, error)) (cancel func()) {
	mustSubject(subject)
	h := &handler{f}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handlers[subject] != nil {
		panic("a second handler of " + subject)
	}
	b.handlers[subject] = h
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
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
	began := time.Now()
	answer, err := b.request(ctx, node, subject, data)
	result := "ok"
	if err != nil {
		result = "error"
	}
	b.metrics.requests.WithLabelValues(result).Observe(time.Since(began).Seconds())
	return answer, err
}

func (b *Bus) request(ctx context.Context, node, subject string, data []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if node == b.opt.Node {
		what, answer := b.answer(ctx, node, subject, bytes.Clone(data))
		return result(node, what, answer)
	}
	left, err := b.leaving(node)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(left, cancel)()
	deadline, _ := ctx.Deadline()
	message := question{b.incarnation, time.Until(deadline)}.encode(data)
	m, err := b.conn.RequestWithContext(ctx, b.prefix+"ask."+node+"."+b.opt.Node+"."+subject, message)
	switch {
	case b.ctx.Err() != nil:
		return nil, cluster.ErrClosed
	case left.Err() != nil, errors.Is(err, nats.ErrNoResponders):
		return nil, cluster.ErrGone
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: %w", cluster.ErrGone, err)
	}
	var what outcome
	answer, err := what.decode(m.Data)
	if err != nil {
		return nil, err
	}
	return result(node, what, answer)
}

// leaving returns a context that ends when a node leaves.
func (b *Bus) leaving(node string) (context.Context, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.peers[node]
	switch {
	case b.ctx.Err() != nil:
		return nil, cluster.ErrClosed
	case p == nil || !p.live:
		return nil, cluster.ErrGone
	}
	return p.ctx, nil
}

func result(node string, what outcome, answer []byte) ([]byte, error) {
	switch what {
	case answered:
		return answer, nil
	case failed:
		return nil, &cluster.RemoteError{Node: node, Text: string(answer)}
	case unhandled:
		return nil, cluster.ErrNoHandler
	default:
		return nil, cluster.ErrBusy
	}
}

// asked handles a request of NATS. The subject is ask.SELF.FROM.SUBJECT.
func (b *Bus) asked(m *nats.Msg) {
	b.metrics.passed("in", len(m.Data))
	rest := strings.TrimPrefix(m.Subject, b.prefix+"ask."+b.opt.Node+".")
	from, subject, named := strings.Cut(rest, ".")
	var q question
	data, err := q.decode(m.Data)
	switch {
	case errors.Is(err, errVersion):
		b.metrics.drop(dropVersion)
		return
	case err != nil || !named || cluster.CheckName(from) != nil || !cluster.CheckSubject(subject):
		b.metrics.drop(dropMalformed)
		return
	}
	select {
	case b.requests <- struct{}{}:
	default:
		b.respond(m, busy, nil)
		return
	}
	go func() { // ends with its time
		defer func() { <-b.requests }()
		ctx, cancel := context.WithTimeout(b.ctx, q.wait)
		defer cancel()
		what, answer := b.answer(ctx, from, subject, data)
		b.respond(m, what, answer)
	}()
}

// answer calls the handler of a subject.
func (b *Bus) answer(ctx context.Context, from, subject string, data []byte) (outcome, []byte) {
	b.mu.Lock()
	h := b.handlers[subject]
	b.mu.Unlock()
	if h == nil {
		return unhandled, nil
	}
	answer, err := h.f(ctx, from, data)
	if err == nil && len(answer) > cluster.MaxPayload {
		err = cluster.ErrTooLarge
	}
	if err != nil {
		return failed, []byte(err.Error())
	}
	return answered, answer
}

func (b *Bus) respond(m *nats.Msg, what outcome, answer []byte) {
	data := what.encode(answer)
	if err := m.Respond(data); err != nil {
		b.metrics.drop(dropUnsent)
		return
	}
	b.metrics.passed("out", len(data))
}

// answerPing answers with the time of the clock of this node. If it asks for its own
// name as well, it does not have that yet.
func (b *Bus) answerPing(_ context.Context, from string, _ []byte) ([]byte, error) {
	b.mu.Lock()
	joining := b.joining
	b.mu.Unlock()
	if joining && from == b.opt.Node {
		return nil, errJoining
	}
	return binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano())), nil
}

// ping reads the clocks of the other nodes until the Bus closes.
func (b *Bus) ping() {
	for clock.Pause(b.ctx, time.Second) {
		for _, node := range b.Nodes() {
			if node != b.opt.Node {
				b.pingOne(node)
			}
		}
		if !clock.Pause(b.ctx, pingEvery-time.Second) {
			return
		}
	}
}

func (b *Bus) pingOne(node string) {
	ctx, cancel := context.WithTimeout(b.ctx, time.Second)
	defer cancel()
	began := time.Now()
	answer, err := b.Request(ctx, node, subjectPing, nil)
	took := time.Since(began)
	if err != nil || len(answer) != 8 {
		return
	}
	theirs := time.Unix(0, int64(binary.BigEndian.Uint64(answer)))
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.peers[node]; p != nil {
		p.rtt, p.pinged = took, true
		p.offset = clockOffset(began, took, theirs)
	}
}

// clockOffset returns how far the clock of a node is ahead of this one's, if a question
// began at a time here and took so long, and the answer has the time there.
func clockOffset(began time.Time, took time.Duration, theirs time.Time) time.Duration {
	return theirs.Sub(began.Add(took / 2).Round(0))
}
