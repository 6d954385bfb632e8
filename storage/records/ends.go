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
	err = s.step(ctx, func(c *change) error {
		if fence, err = c.Next(tableFences); err != nil {
			return err
		}
		content := append(append(idKey(e.User), idKey(e.Profile)...), e.Reason)
		c.putEntry(tableEnds, numberKey(fence), content)
		return nil
	})
	return fence, err
}

// endRange is the range of the ends of sessions above a fence.
func endRange(fence uint64) engine.Range {
	return engine.Range{Table: tableEnds, From: append(numberKey(fence), 0), Limit: storage.MaxAccountEnds, Loose: true}
}

// endsAfter returns the ends of sessions above a fence.
func endsAfter(tx engine.Reader, fence uint64) (ends []storage.AccountEnd, err error) {
	for e, err := range scanEntries(tx, endRange(fence), 9) {
		if err != nil {
			return nil, err
		}
		ends = append(ends, storage.AccountEnd{
			Fence: binary.BigEndian.Uint64(e.Key), User: storage.UserID(binary.BigEndian.Uint32(e.Value)),
			Profile: storage.ProfileID(binary.BigEndian.Uint32(e.Value[4:])), Reason: e.Value[8],
		})
	}
	return ends, nil
}

// SweepEnds is described in [storage.Sessions].
func (s Shared) SweepEnds(ctx context.Context, upto uint64) (n int, err error) {
	r := engine.Range{Table: tableEnds, To: append(numberKey(upto), 0), Limit: mostAtOnce}
	for {
		var keys [][]byte
		err := s.step(ctx, func(c *change) (err error) {
			keys, err = keysOf(c, r)
			for _, k := range keys {
				c.delete(tableEnds, k)
			}
			return err
		})
		if err != nil {
			return n, err
		}
		if n += len(keys); len(keys) < mostAtOnce {
			return n, nil
		}
	}
}
