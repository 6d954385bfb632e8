package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/respawnd/respawnd/storage"
)

// metaProbe is the key in bucketMeta that Probe writes.
const metaProbe = "probe"

// writes remembers how writing to the disk went.
type writes struct {
	mu    sync.Mutex // guards the fields below
	began time.Time  // of the write that is under way; zero: none is
	last  time.Time  // when one ended last
	err   error      // how that ended
}

func (w *writes) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Now()
}

// end notes how a transaction ended: with err, or with what its step refused,
// which says nothing about the disk.
func (w *writes) end(err, refused error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Time{}
	if refused != nil || errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return
	}
	w.last, w.err = time.Now(), err
}

// LastWrite returns when a change was last written to the disk, or was not, and
// why not. The time is zero if nothing was written since Open.
func (s *Store) LastWrite() (time.Time, error) {
	if broken := s.broken.Load(); broken != nil {
		return time.Now(), *broken
	}
	s.writes.mu.Lock()
	defer s.writes.mu.Unlock()
	return s.writes.last, s.writes.err
}

// WriteUnderWay returns for how long the present write has been under way; 0: none
// is. What waits for its turn does not count.
func (s *Store) WriteUnderWay() time.Duration {
	s.writes.mu.Lock()
	defer s.writes.mu.Unlock()
	if s.writes.began.IsZero() {
		return 0
	}
	return time.Since(s.writes.began)
}

// Probe writes something of no meaning and returns nil when it is on the disk.
func (s *Store) Probe(ctx context.Context) error {
	return s.update(storage.WithoutAudit(ctx), func(tx *bbolt.Tx) error {
		now := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		return tx.Bucket([]byte(bucketMeta)).Put([]byte(metaProbe), sealEntry([]byte(metaProbe), now))
	})
}
