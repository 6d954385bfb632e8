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
		err := c.Load(engine.Key{Table: tableRuns, Key: numberKey(e.Run)}, engine.Key{Table: tableSessionsOf, Key: at},
			engine.Key{Table: tableSessions, Key: idKey(e.User)}, engine.Key{Table: tableFences})
		if err != nil {
			return err
		}
		if err := canEnter(c, e.Run, at); err != nil {
			return err
		}
		rows, err := rowsOf(c, e.User)
		if err != nil {
			return err
		}
		if e.Fence, err = c.Next(tableFences); err != nil {
			return err
		}
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
func canEnter(tx engine.Reader, run uint64, at []byte) error {
	r, err := getRun(tx, run)
	if err != nil {
		return err
	}
	if r.ended {
		return storage.ErrConflict
	}
	taken, err := has(tx, tableSessionsOf, at)
	if err == nil && taken {
		err = storage.ErrTaken
	}
	return err
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
		if err := c.Load(keys...); err != nil {
			return err
		}
		var all []place
		for _, k := range keys {
			content, err := getEntry(c, k.Table, k.Key, 8)
			if err != nil {
				return err
			}
			if content != nil {
				all = append(all, openPlace(k.Key, content))
			}
		}
		return c.dropSessions(run, all)
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
		err := c.restoreRun(node, run)
		if err == nil {
			err = errors.Join(c.Raise(tableFences, highest), c.loadUsers(users))
		}
		if err != nil {
			return err
		}
		for _, p := range users {
			ids, err := c.restoreRows(p.user, ofUser[p.user])
			if err != nil {
				return err
			}
			displaced = append(displaced, ids...)
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
	all, err := allRuns(c)
	if err != nil {
		return err
	}
	err = stateOf(all, node, run)
	if err == nil || errors.Is(err, storage.ErrTaken) {
		return err
	}
	c.putRun(nodeRun{NodeRun: storage.NodeRun{Node: node, Run: run}})
	return nil
}

// restoreRows adds sessions of a user with their fences, and returns the ids of those that
// newer ones displace.
func (c *change) restoreRows(user storage.UserID, sessions []storage.LiveSession) (displaced []uint64, err error) {
	rows, err := rowsOf(c, user)
	if err != nil {
		return nil, err
	}
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
	if len(rows) == before {
		return displaced, nil
	}
	c.putRows(user, rows)
	return displaced, nil
}
