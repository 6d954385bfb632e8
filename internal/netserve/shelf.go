package netserve

import (
	"sync"
	"time"
)

// shelf holds entries until their time has come, without a goroutine for each.
// For each entry exactly one function is called: due, in a goroutine of its
// own, when its time has come, or drop when it is removed before.
type shelf struct {
	running sync.WaitGroup // calls of due

	mu     sync.Mutex // guards the fields below
	items  map[*shelved]struct{}
	closed bool
}

// shelved is an entry of a shelf.
type shelved struct {
	shelf     *shelf
	timer     *time.Timer
	due, drop func()
}

// put adds an entry that is due after d. If the shelf is closed, drop is called
// at once.
func (s *shelf) put(d time.Duration, due, drop func()) *shelved {
	x := &shelved{shelf: s, due: due, drop: drop}
	if !s.add(x, d) {
		drop()
	}
	return x
}

// add starts the time of x unless the shelf is closed.
func (s *shelf) add(x *shelved, d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.items == nil {
		s.items = make(map[*shelved]struct{})
	}
	s.items[x] = struct{}{}
	x.timer = time.AfterFunc(d, func() {
		if s.take(x) {
			defer s.running.Done()
			x.due()
		}
	})
	return true
}

// take removes x because it is due, and reports whether it was there.
func (s *shelf) take(x *shelved) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.items[x]; !there {
		return false
	}
	delete(s.items, x)
	s.running.Add(1)
	return true
}

// len returns the number of entries.
func (s *shelf) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// remove drops x and reports whether it was still on its shelf.
func (x *shelved) remove() bool {
	s := x.shelf
	s.mu.Lock()
	_, there := s.items[x]
	delete(s.items, x)
	s.mu.Unlock()
	if there {
		x.timer.Stop()
		x.drop()
	}
	return there
}

// close drops all entries and waits for those that have just become due. The
// shelf is empty afterwards.
func (s *shelf) close() {
	s.mu.Lock()
	s.closed = true
	left := s.items
	s.items = nil
	s.mu.Unlock()
	for x := range left {
		x.timer.Stop()
		x.drop()
	}
	s.running.Wait()
}
