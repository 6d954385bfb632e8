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

// writes records the results of writing to the disk.
type writes struct {
	mu    sync.Mutex // guards the fields below
	began time.Time  // start of the current write; zero: none
	last  time.Time  // end of the last write
	err   error      // result of the last write
}

func (w *writes) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Now()
}

// end records the end of a transaction: err is its result, refused the error of
// its step, which is unrelated to the disk.
func (w *writes) end(err, refused error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = time.Time{}
	if refused != nil || errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return
	}
	w.last, w.err = time.Now(), err
}

// LastWrite returns the time and the error of the last write to the disk. The
// time is zero if nothing was written since Open.
func (s *Store) LastWrite() (time.Time, error) {
	if broken := s.broken.Load(); broken != nil {
		return time.Now(), *broken
	}
	s.writes.mu.Lock()
	defer s.writes.mu.Unlock()
	return s.writes.last, s.writes.err
}

// WriteUnderWay returns the duration of the current write; 0: there is none.
// Waiting writes do not count.
func (s *Store) WriteUnderWay() time.Duration {
	s.writes.mu.Lock()
	defer s.writes.mu.Unlock()
	if s.writes.began.IsZero() {
		return 0
	}
	return time.Since(s.writes.began)
}

// Probe writes a meaningless value and returns nil when it is on the disk.
func (s *Store) Probe(ctx context.Context) error {
	return s.update(storage.WithoutAudit(ctx), func(tx *bbolt.Tx) error {
		now := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixNano()))
		return tx.Bucket([]byte(bucketMeta)).Put([]byte(metaProbe), sealEntry([]byte(metaProbe), now))
	})
}
