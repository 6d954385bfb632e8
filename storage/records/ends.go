package records

import (
	"context"
	"encoding/binary"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// EndSessions is described in [storage.Sessions].
func (s Shared) EndSessions(ctx context.Context, e storage.AccountEnd) (fence uint64, err error) {
	if err := e.Check(); err != nil {
		return 0, err
	}
	return perform(storage.WithoutAudit(ctx), s.Store, func(c *change) (uint64, error) {
		fence := c.next(tableFences)
		content := append(append(idKey(e.User), idKey(e.Profile)...), e.Reason)
		c.putEntry(tableEnds, numberKey(fence), content)
		return fence, nil
	})
}

// endRange is the range of the ends of sessions above a fence.
func endRange(fence uint64) engine.Range {
	return engine.Range{Table: tableEnds, From: append(numberKey(fence), 0), Limit: storage.MaxAccountEnds, Loose: true}
}

// endsAfter returns the ends of sessions above a fence.
func endsAfter(v *view, fence uint64) (ends []storage.AccountEnd) {
	for e := range v.entries(endRange(fence), 9) {
		ends = append(ends, storage.AccountEnd{
			Fence: binary.BigEndian.Uint64(e.Key), User: storage.UserID(binary.BigEndian.Uint32(e.Value)),
			Profile: storage.ProfileID(binary.BigEndian.Uint32(e.Value[4:])), Reason: e.Value[8],
		})
	}
	return ends
}

// SweepEnds is described in [storage.Sessions].
func (s Shared) SweepEnds(ctx context.Context, upto uint64) (n int, err error) {
	r := engine.Range{Table: tableEnds, To: append(numberKey(upto), 0), Limit: mostAtOnce}
	for {
		dropped, err := perform(storage.WithoutAudit(ctx), s.Store, func(c *change) (int, error) {
			keys := c.keys(r)
			c.deleteAll(tableEnds, keys)
			return len(keys), nil
		})
		if n += dropped; err != nil || dropped < mostAtOnce {
			return n, err
		}
	}
}
