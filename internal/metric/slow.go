package metric

import (
	"sync"
	"time"
)

// slowWait is how long the reading of a metric waits for a database.
const slowWait = 200 * time.Millisecond

// Slow returns a function that calls read and waits a little for its value. If there is
// none by then, or read returns an error, it returns the last one: a database that does not
// answer must not keep all metrics from being read. One call of read runs at a time.
func Slow[T any](read func() (T, error)) func() T {
	s := &slow[T]{read: read}
	return s.value
}

type slow[T any] struct {
	read func() (T, error)

	mu   sync.Mutex // guards the fields below
	last T
	done chan struct{} // closed when the call of read that runs has returned; nil: none runs
}

func (s *slow[T]) value() T {
	s.mu.Lock()
	done := s.done
	if done == nil {
		done = make(chan struct{})
		s.done = done
		go s.renew()
	}
	s.mu.Unlock()
	select {
	case <-done:
	case <-time.After(slowWait):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *slow[T]) renew() {
	v, err := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.last = v
	}
	close(s.done)
	s.done = nil
}
