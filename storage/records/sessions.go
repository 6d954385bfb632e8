package records

import (
	"context"
	"errors"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// EnterSession is described in [storage.Sessions].
func (s Shared) EnterSession(ctx context.Context, e storage.LiveSession) (fence uint64, displaced []storage.LiveSession, err error) {
	if err := e.Check(); err != nil {
		return 0, nil, err
	}
	at := placeKey(e.Run, e.ID)
	err = s.step(ctx, func(c *change) error {
		c.load(engine.Key{Table: tableRuns, Key: numberKey(e.Run)}, engine.Key{Table: tableSessionsOf, Key: at},
			engine.Key{Table: tableSessions, Key: idKey(e.User)}, engine.Key{Table: tableFences})
		c.failed(canEnter(c.view, e.Run, at))
		rows := c.rowsOf(e.User)
		e.Fence = c.next(tableFences)
		displaced = c.displace(rows, &e)
		c.putPlace(&e)
		c.putRows(e.User, append(rows, sessionRow{LiveSession: e}))
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	return e.Fence, displaced, nil
}

// canEnter returns why a session with a place cannot be added to a run, nil if it can.
func canEnter(v *view, run uint64, at []byte) error {
	r, err := v.run(run)
	switch {
	case err != nil:
		return err
	case r.ended:
		return storage.ErrConflict
	case v.has(tableSessionsOf, at):
		return storage.ErrTaken
	}
	return nil
}

// LeaveSessions is described in [storage.Sessions].
func (s Shared) LeaveSessions(ctx context.Context, run uint64, ids []uint64) error {
	if len(ids) > storage.MaxSessionsAtOnce {
		return storage.ErrInvalid
	}
	keys := make([]engine.Key, len(ids))
	for i, id := range ids {
		keys[i] = engine.Key{Table: tableSessionsOf, Key: placeKey(run, id), Then: [2]engine.Table{tableSessions}}
	}
	return s.step(ctx, func(c *change) error {
		c.load(keys...)
		var all []place
		for _, k := range keys {
			if content := c.entry(k.Table, k.Key, 8); content != nil {
				all = append(all, openPlace(k.Key, content))
			}
		}
		c.dropSessions(run, all)
		return nil
	})
}

// RestoreSessions is described in [storage.Sessions].
func (s Shared) RestoreSessions(ctx context.Context, node string, run uint64, sessions []storage.LiveSession) (displaced []uint64, err error) {
	if err := checkRestored(node, run, sessions); err != nil {
		return nil, err
	}
	highest := run
	var users []place
	ofUser := make(map[storage.UserID][]storage.LiveSession)
	for _, e := range sessions {
		highest = max(highest, e.Fence)
		if ofUser[e.User] == nil {
			users = append(users, place{user: e.User})
		}
		ofUser[e.User] = append(ofUser[e.User], e)
	}
	err = s.step(ctx, func(c *change) error {
		displaced = nil
		c.failed(c.restoreRun(node, run))
		c.raise(tableFences, highest)
		c.loadUsers(users)
		for _, p := range users {
			displaced = append(displaced, c.restoreRows(p.user, ofUser[p.user])...)
		}
		return nil
	})
	return displaced, err
}

func checkRestored(node string, run uint64, sessions []storage.LiveSession) error {
	if len(sessions) > storage.MaxSessionsAtOnce {
		return storage.ErrInvalid
	}
	for i := range sessions {
		if err := sessions[i].Check(); err != nil {
			return err
		}
		if sessions[i].Run != run || sessions[i].Fence == 0 {
			return storage.ErrInvalid
		}
	}
	return checkNode(node)
}

// restoreRun makes a run one that has not ended.
func (c *change) restoreRun(node string, run uint64) error {
	err := stateOf(c.allRuns(), node, run)
	if err == nil || errors.Is(err, storage.ErrTaken) {
		return err
	}
	c.putRun(nodeRun{NodeRun: storage.NodeRun{Node: node, Run: run}})
	return nil
}

// restoreRows adds sessions of a user with their fences, and returns the ids of those that
// newer ones displace.
func (c *change) restoreRows(user storage.UserID, sessions []storage.LiveSession) (displaced []uint64) {
	rows := c.rowsOf(user)
	before := len(rows)
	for _, e := range sessions {
		switch {
		case slices.ContainsFunc(rows, func(r sessionRow) bool { return sameSession(&r.LiveSession, &e) }):
		case slices.ContainsFunc(rows, func(r sessionRow) bool { return r.Over(&e) }),
			slices.ContainsFunc(sessions, func(o storage.LiveSession) bool { return o.Over(&e) }):
			displaced = append(displaced, e.ID)
		default:
			c.displace(rows, &e)
			c.putPlace(&e)
			rows = append(rows, sessionRow{LiveSession: e})
		}
	}
	if len(rows) > before {
		c.putRows(user, rows)
	}
	return displaced
}
