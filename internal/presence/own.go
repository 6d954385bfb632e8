package presence

import (
	"context"
	"errors"
	"sync"

	"github.com/respawnd/respawnd/internal/wake"
	"github.com/respawnd/respawnd/storage"
)

// ownSession is a session of this node with its row in the store.
type ownSession struct {
	session   Session
	id        uint64
	displaces storage.Displaces

	// The fields below are guarded by mu of ownSessions.

	fence uint64 // 0: not known yet
	in    bool   // Local has it
	over  error  // why it has to end; nil: it does not
}

func (o *ownSession) row(run uint64) storage.LiveSession {
	return storage.LiveSession{
		Run: run, ID: o.id, Fence: o.fence, Profile: o.session.Profile(), User: o.session.User(), Displaces: o.displaces,
	}
}

// ownSessions are the sessions of this node that have, or may have, a row.
type ownSessions struct {
	wake chan struct{} // has a token when there is something in leaving

	mu      sync.Mutex // guards the fields below
	byID    map[uint64]*ownSession
	all     map[Session]*ownSession
	leaving []uint64 // rows to remove; no more than there were sessions
}

func newOwnSessions() ownSessions {
	return ownSessions{wake: make(chan struct{}, 1), byID: make(map[uint64]*ownSession), all: make(map[Session]*ownSession)}
}

func (t *ownSessions) has(s Session) bool { return t.get(s) != nil }

// get returns a session, nil if it is not there.
func (t *ownSessions) get(s Session) *ownSession {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[s]
}

// expect adds a session before its row is made.
func (t *ownSessions) expect(o *ownSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[o.id], t.all[o.session] = o, o
}

func (t *ownSessions) setFence(o *ownSession, fence uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.fence = fence
}

func (t *ownSessions) fenceOf(s Session) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.all[s]; o != nil {
		return o.fence
	}
	return 0
}

// rows returns the rows of all sessions whose fence is known.
func (t *ownSessions) rows(run uint64) (rows []storage.LiveSession) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.byID {
		if o.fence != 0 {
			rows = append(rows, o.row(run))
		}
	}
	return rows
}

// leave forgets a session and has its row removed.
func (c *Clustered) leave(o *ownSession) {
	t := &c.own
	t.mu.Lock()
	delete(t.byID, o.id)
	if t.all[o.session] == o {
		delete(t.all, o.session)
	}
	t.mu.Unlock()
	c.leaveRow(o.id)
}

// leaveRow has a row removed.
func (c *Clustered) leaveRow(id uint64) {
	c.own.mu.Lock()
	c.own.leaving = append(c.own.leaving, id)
	c.own.mu.Unlock()
	wake.Up(c.own.wake)
}

// arrived notes that Local has a session, and returns why it has to end already, nil
// if it does not.
func (c *Clustered) arrived(o *ownSession) error {
	c.own.mu.Lock()
	defer c.own.mu.Unlock()
	o.in = true
	if o.over == nil {
		o.over = c.ends.reason(o)
	}
	return o.over
}

// condemn notes that a session has to end, and reports whether the caller ends it:
// that is once.
func (t *ownSessions) condemn(o *ownSession, reason error) bool {
	if o.over != nil {
		return false
	}
	o.over = reason
	return o.in
}

// take notes that Local displaced a session, so that the row does not end it again,
// and reports whether the caller ends it: not if the row was quicker.
func (t *ownSessions) take(s Session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.all[s]
	switch {
	case o == nil: // it is signing out
		return true
	case o.over != nil:
		return false
	}
	o.over = ErrDisplaced
	return true
}

// displace ends the session with an id because a newer one displaced it, once. A row
// without a session is removed.
func (c *Clustered) displace(id uint64) {
	c.own.mu.Lock()
	o := c.own.byID[id]
	ends := o != nil && c.own.condemn(o, ErrDisplaced)
	c.own.mu.Unlock()
	switch {
	case o == nil:
		c.leaveRow(id)
	case ends:
		c.endOwn(o, ErrDisplaced)
	}
}

// endOwn ends a session. A displaced one is signed out at once, and its watchers
// notice nothing if the profile is signed in elsewhere.
func (c *Clustered) endOwn(o *ownSession, reason error) {
	if !errors.Is(reason, ErrDisplaced) {
		o.session.Kick(reason)
		return
	}
	id := o.session.Profile()
	was, last := c.dropOne(o.session)
	o.session.Kick(reason)
	if !was {
		return // one of this node displaced it
	}
	c.Local.metrics.displaced.Inc()
	if last && !c.elsewhere(id) {
		c.owe(id, true)
		return
	}
	c.publish(id, note{})
}

// leaveRows removes the rows of sessions that signed out, until ctx ends.
func (c *Clustered) leaveRows(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return // the end of the run removes all
		case <-c.own.wake:
		}
		if !c.leaveSome(ctx) { // beatOften wakes it when the store is back
			c.pulse.beatNow()
		}
	}
}

// leaveSome removes rows and reports whether the store took that.
func (c *Clustered) leaveSome(ctx context.Context) bool {
	for {
		c.own.mu.Lock()
		ids := c.own.leaving[:min(len(c.own.leaving), storage.MaxSessionsAtOnce)]
		c.own.leaving = c.own.leaving[len(ids):]
		c.own.mu.Unlock()
		if len(ids) == 0 {
			return true
		}
		step, cancel := context.WithTimeout(ctx, storeTime)
		err := c.rows.LeaveSessions(step, c.run.Load(), ids)
		cancel()
		if err != nil {
			c.own.mu.Lock()
			c.own.leaving = append(c.own.leaving, ids...)
			c.own.mu.Unlock()
			return false
		}
	}
}
