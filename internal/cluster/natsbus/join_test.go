package natsbus

import (
	"bytes"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// A node that starts waits for the answer of one that it is connected to, however slow that one
// is: here its answers come after the fifth question.
func TestJoinWaitsForAnswers(t *testing.T) {
	t.Parallel()
	a := open(t, "a")
	b := open(t, "b", slowAnswers(t, a.Addr(), 5))
	if got := b.Nodes(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("b sees %q when it has joined, want a as well", got)
	}
}

// slowAnswers forwards connections to an address. It holds back what that one sends from the
// first question of another node until the one with a number.
func slowAnswers(t *testing.T, to string, number int) (address string) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q := &questions{number: number, asked: make(chan struct{})}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); q.release(); all.Wait() })
	all.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			all.Go(func() { _, _ = io.Copy(io.MultiWriter(q, far), near); _ = far.Close() })
			all.Go(func() { _, _ = io.Copy(io.MultiWriter(answers{q}, near), far); _ = near.Close() })
		}
	})
	return ln.Addr().String()
}

// questions counts those that are written to it.
type questions struct {
	number int
	seen   atomic.Int64
	once   sync.Once
	asked  chan struct{} // closed with the question of that number, or by release
}

func (q *questions) release() { q.once.Do(func() { close(q.asked) }) }

func (q *questions) Write(p []byte) (int, error) {
	if n := bytes.Count(p, []byte(subjectWho)); n > 0 && q.seen.Add(int64(n)) >= int64(q.number) {
		q.release()
	}
	return len(p), nil
}

// answers takes what is written when it may pass.
type answers struct{ q *questions }

func (a answers) Write(p []byte) (int, error) {
	if a.q.seen.Load() > 0 {
		<-a.q.asked
	}
	return len(p), nil
}

// Nodes that start together are there for each other, though none is live yet.
func TestStartingNodesAnswer(t *testing.T) {
	t.Parallel()
	b := &Bus{opt: Options{Node: "b"}, nodes: []string{"b"}, joining: true, starting: make(map[string]struct{}), soon: make(chan struct{}, 1)}
	for _, subject := range []string{subjectWho, subjectHere, subjectHere} {
		b.accept("a", subject, streamAll, frame{1, 1}, nil)
	}
	b.accept("c", subjectHere, streamAll, frame{1, 1}, nil)
	if n := b.answers(); n != 2 {
		t.Errorf("%d nodes answered, want 2", n)
	}
}
