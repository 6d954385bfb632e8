package gpcm

import (
	"context"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// maxEnding is how long a message waits for sessions that are ending.
const maxEnding = 10 * time.Second

// endings is the sessions that are ending and may still put messages back, by profile.
// Newer messages to the profile wait for them, so that they come in their order.
type endings struct {
	mu sync.Mutex // guards the field below
	of map[storage.ProfileID]*ending
}

// ending is the sessions of one profile that are ending.
type ending struct {
	sessions int
	over     chan struct{} // closed when the last one has ended
}

// begin notes that a session is ending.
func (e *endings) begin(id storage.ProfileID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = make(map[storage.ProfileID]*ending)
	}
	if e.of[id] == nil {
		e.of[id] = &ending{over: make(chan struct{})}
	}
	e.of[id].sessions++
}

// end notes that a session has put its messages back.
func (e *endings) end(id storage.ProfileID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of[id].sessions--; e.of[id].sessions == 0 {
		close(e.of[id].over)
		delete(e.of, id)
	}
}

// over returns a channel that is closed when no session of a profile is ending any more;
// nil: none is.
func (e *endings) over(id storage.ProfileID) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if one := e.of[id]; one != nil {
		return one.over
	}
	return nil
}

// inOrder waits until earlier messages to a profile are delivered or stored, if they are with
// sessions of it that are ending, here or on other nodes. It gives up after maxEnding: two
// sessions that are ending may wait for each other.
func (s *Server) inOrder(ctx context.Context, from, to storage.ProfileID) {
	if over := s.endings.over(to); over != nil {
		select {
		case <-over:
		case <-time.After(maxEnding):
		case <-ctx.Done():
		}
	}
	s.opt.Hub.Await(ctx, from, to)
}
