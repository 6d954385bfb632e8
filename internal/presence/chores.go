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
	snapshotSize = 128 << 10   // approximate size of a part of a snapshot in bytes
)

// chores holds the pending work of a hub: the work of messages that must not wait, and operations
// that failed before.
type chores struct {
	wake chan struct{}

	mu sync.Mutex // guards the field below
	tasks
}

// tasks is the pending work. Each set is bounded by the players and nodes that are
// known.
type tasks struct {
	owed   map[storage.ProfileID]bool // statuses to be announced; true: on all nodes
	askers map[string]struct{}        // nodes that want a snapshot
}

func newTasks() tasks {
	return tasks{owed: make(map[storage.ProfileID]bool), askers: make(map[string]struct{})}
}

func newChores() chores { return chores{wake: make(chan struct{}, 1), tasks: newTasks()} }

// do changes the pending work.
func (h *chores) do(f func(*tasks)) {
	h.mu.Lock()
	f(&h.tasks)
	h.mu.Unlock()
	wake.Up(h.wake)
}

// take returns and clears the pending work.
func (h *chores) take() tasks {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tasks
	h.tasks = newTasks()
	return t
}

// owe schedules the announcement of a profile's status to its watchers; everywhere: on all nodes.
func (c *Clustered) owe(id storage.ProfileID, everywhere bool) {
	c.chore.do(func(t *tasks) { t.owed[id] = t.owed[id] || everywhere })
}

// oweHere is owe for several profiles and this node, if there are players here.
func (c *Clustered) oweHere(ids []storage.ProfileID) {
	if len(ids) == 0 || c.Local.Count() == 0 {
		return
	}
	c.chore.do(func(t *tasks) {
		for _, id := range ids {
			t.owed[id] = t.owed[id] || false
		}
	})
}

// doChores works until ctx ends.
func (c *Clustered) doChores(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.chore.wake:
		}
		t := c.chore.take()
		for node := range t.askers {
			if !c.sendSnapshot(node) {
				c.retry(ctx, func(t *tasks) { t.askers[node] = struct{}{} })
			}
		}
		c.payOwed(ctx, t.owed)
	}
}

// retry adds tasks after choreRetry.
func (c *Clustered) retry(ctx context.Context, f func(*tasks)) {
	time.AfterFunc(choreRetry, func() {
		if ctx.Err() == nil {
			c.chore.do(f)
		}
	})
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
		c.retry(ctx, func(t *tasks) {
			for id, everywhere := range again {
				t.owed[id] = t.owed[id] || everywhere
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
		c.publish(id, watchers, flagAlways|flagTold)
	}
	c.tellHere(id, watchers)
	return nil
}

// sendSnapshot sends a node all players of this one. It returns false if it has to be
// sent again.
func (c *Clustered) sendSnapshot(node string) bool {
	ids := c.profileIDs()
	flags := byte(flagFirst)
	for {
		n, sent := c.sendPart(node, ids, flags)
		if !sent {
			return c.bus.Incarnation(node) == 0
		}
		if ids = ids[n:]; len(ids) == 0 {
			return true
		}
		flags = 0
	}
}

// sendPart sends the first of some profiles, and returns how many.
func (c *Clustered) sendPart(node string, ids []storage.ProfileID, flags byte) (n int, sent bool) {
	c.publishing.Lock()
	defer c.publishing.Unlock()
	m := snapshot{flags: flags}
	for size := 0; n < len(ids) && len(m.persons) < maxWirePersons && size < snapshotSize; n++ {
		if f := c.describe(ids[n]); f != nil {
			m.persons = append(m.persons, f)
			size += len(f.appendTo(nil))
		}
	}
	if n == len(ids) {
		m.flags |= flagLast
	}
	return n, c.to(node, m.appendTo(c.header(kindSnapshot))) == nil
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
