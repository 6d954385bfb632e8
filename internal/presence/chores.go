package presence

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

// Bounds of the chores of a hub.
const (
	choreRetry   = time.Second // until failed operations of the store are tried again
	choreWorkers = 4           // profiles whose watchers are read at once
)

// chores holds the pending work of a hub: announcements that must not be waited for, or failed
// before.
type chores struct {
	wake chan struct{}

	mu   sync.Mutex                 // guards the field below
	owed map[storage.ProfileID]bool // statuses to be announced; true: on all nodes; bounded by the known players
}

func newChores() chores {
	return chores{wake: make(chan struct{}, 1), owed: make(map[storage.ProfileID]bool)}
}

// add schedules announcements.
func (h *chores) add(owed map[storage.ProfileID]bool) {
	h.mu.Lock()
	for id, everywhere := range owed {
		h.owed[id] = h.owed[id] || everywhere
	}
	h.mu.Unlock()
	wake.Up(h.wake)
}

// take returns and clears the pending work.
func (h *chores) take() map[storage.ProfileID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	owed := h.owed
	h.owed = make(map[storage.ProfileID]bool)
	return owed
}

// owe schedules the announcement of a profile's status to its watchers; everywhere: on all nodes.
func (c *Clustered) owe(id storage.ProfileID, everywhere bool) {
	c.chore.add(map[storage.ProfileID]bool{id: everywhere})
}

// doChores works until ctx ends.
func (c *Clustered) doChores(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.chore.wake:
		}
		c.payOwed(ctx, c.chore.take())
	}
}

// payOwed announces the statuses that are scheduled.
func (c *Clustered) payOwed(ctx context.Context, owed map[storage.ProfileID]bool) {
	var g errgroup.Group
	g.SetLimit(choreWorkers)
	var mu sync.Mutex // guards again
	again := make(map[storage.ProfileID]bool)
	for id, everywhere := range owed {
		g.Go(func() error {
			if c.payOne(ctx, id, everywhere) != nil {
				mu.Lock()
				defer mu.Unlock()
				again[id] = everywhere
			}
			return nil
		})
	}
	_ = g.Wait() // the functions return nil
	if len(again) > 0 {
		time.AfterFunc(choreRetry, func() {
			if ctx.Err() == nil {
				c.chore.add(again)
			}
		})
	}
}

// payOne announces the status of one profile. The order lock makes it the last one that
// does.
func (c *Clustered) payOne(ctx context.Context, id storage.ProfileID, everywhere bool) error {
	order := c.order(id)
	order.Lock()
	defer order.Unlock()
	watchers, err := c.watchers(ctx, id)
	if err != nil {
		return err
	}
	if everywhere {
		c.publish(id, note{flags: flagAlways | flagTold, watchers: watchers})
	}
	c.tellHere(id, watchers)
	return nil
}

// profileIDs returns the profiles that are signed in on this node.
func (c *Clustered) profileIDs() []storage.ProfileID {
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids := make([]storage.ProfileID, 0, len(c.profiles))
	for id := range c.profiles {
		ids = append(ids, id)
	}
	return ids
}

// showMailboxes has the players of this node look into their mailboxes.
func (c *Clustered) showMailboxes() {
	for _, id := range c.profileIDs() {
		c.deliver(id, MessagesWaiting{})
	}
}
