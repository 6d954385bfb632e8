package bolt

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// userCount is the number of users. The file has it under metaUsers, so that a
// start need not count them. Each check of the file counts them too, and corrects
// the number: versions of the program that do not know it leave it as it is.
type userCount struct {
	now     atomic.Int64
	stored  int64 // the number of the file when it was opened
	opened  int64 // now, when it was opened
	counted int64 // count by the check of the file; -1: none yet
}

// addUsers adds n to the number of users in the file.
func (c *change) addUsers(n int64) error {
	stored, err := metaNumber(c.Tx, metaUsers, 8)
	if err != nil {
		return err
	}
	return c.putEntry(bucketMeta, []byte(metaUsers), binary.BigEndian.AppendUint64(nil, stored+uint64(n)))
}

// loadUsers finds out the number of users on opening. It counts those of a file
// that neither has the number nor was checked.
func (s *Store) loadUsers(ctx context.Context) error {
	return s.view(ctx, func(tx *bbolt.Tx) error {
		stored, err := metaNumber(tx, metaUsers, 8)
		if err != nil {
			return err
		}
		s.users.stored = int64(stored)
		n := s.users.counted
		if n < 0 && s.users.stored > 0 {
			n = s.users.stored
		}
		if n < 0 {
			n = int64(tx.Bucket([]byte(bucketUsers)).Stats().KeyN)
		}
		s.users.opened = n
		s.users.now.Store(n)
		return nil
	})
}

// correctUsers corrects the number of users after the check. Others may change
// it meanwhile.
func (s *Store) correctUsers(ctx context.Context) error {
	u := &s.users
	if u.counted < 0 {
		u.counted = u.opened // of an upgraded file, which nothing has changed yet
	}
	u.now.Add(u.counted - u.opened)
	if u.counted == u.stored {
		return nil
	}
	return s.change(storage.WithoutAudit(ctx), func(c *change) error { return c.addUsers(u.counted - u.stored) })
}
