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

// wait waits until no session of a profile is ending, or until one that waits is ending
// itself: two that wait for each other would never end.
func (e *endings) wait(ctx context.Context, id storage.ProfileID, itself <-chan struct{}) error {
	over := e.over(id)
	if over == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxEnding)
	defer cancel()
	select {
	case <-over:
	case <-itself:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
