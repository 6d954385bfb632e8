package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"math"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// maxRelations is the maximum number of cached relations. When there are more,
// all are dropped.
const maxRelations = 1 << 16

// relations caches the results of Relation, which is called for every message.
// A group drops the pairs that it changed after it is durable and before it is
// answered, so that a caller never sees a state older than its own change.
type relations struct {
	mu     sync.RWMutex // guards the fields below
	known  map[pair]storage.Relation
	writes uint64 // number of times that pairs were dropped
	closed bool
}

// pair is two profiles, the lower id first.
type pair struct{ low, high storage.ProfileID }

// newPair returns the pair of two profiles and whether one is its first.
func newPair(one, other storage.ProfileID) (p pair, inOrder bool) {
	if one <= other {
		return pair{one, other}, true
	}
	return pair{other, one}, false
}

// seenFrom returns r from the view of the first or the second of its pair.
func seenFrom(r storage.Relation, first bool) storage.Relation {
	if first {
		return r
	}
	return storage.Relation{Buddy: r.BuddyOf, BuddyOf: r.Buddy, Blocks: r.BlockedBy, BlockedBy: r.Blocks}
}

// find returns the cached relation of a pair, and a mark for remember.
func (r *relations) find(p pair) (found storage.Relation, ok bool, mark uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, ok = r.known[p]
	return found, ok, r.writes
}

// remember caches a relation read after find returned the mark, unless pairs
// were dropped in between: the relation may then be outdated.
func (r *relations) remember(p pair, found storage.Relation, mark uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || mark != r.writes {
		return
	}
	if r.known == nil || len(r.known) >= maxRelations {
		r.known = make(map[pair]storage.Relation)
	}
	r.known[p] = found
}

// forget drops the pairs from the cache.
func (r *relations) forget(pairs []pair) {
	if len(pairs) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	for _, p := range pairs {
		delete(r.known, p)
	}
}

// close drops everything and disables the cache.
func (r *relations) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.closed = nil, true
}

// Relation is described in [storage.Buddies].
func (s *Store) Relation(ctx context.Context, one, other storage.ProfileID) (storage.Relation, error) {
	if err := ctx.Err(); err != nil {
		return storage.Relation{}, err
	}
	p, inOrder := newPair(one, other)
	r, ok, mark := s.relations.find(p)
	if ok {
		return seenFrom(r, inOrder), nil
	}
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		r = storage.Relation{
			Buddy: has(tx, bucketBuddies, p.low, p.high), BuddyOf: has(tx, bucketBuddies, p.high, p.low),
			Blocks: has(tx, bucketBlocks, p.low, p.high), BlockedBy: has(tx, bucketBlocks, p.high, p.low),
		}
		return nil
	})
	if err != nil {
		return storage.Relation{}, err
	}
	s.relations.remember(p, r, mark)
	return seenFrom(r, inOrder), nil
}

// A walker reports whether a bucket has the pairs of one profile with others,
// which must be queried in the order of ids. If there are no pairs it seeks
// only once.
type walker struct {
	cursor *bbolt.Cursor
	id     storage.ProfileID
	next   uint64 // second id of the pair at the cursor; lower ones are not in the bucket
}

func newWalker(tx *bbolt.Tx, bucket string, id storage.ProfileID) *walker {
	return &walker{cursor: tx.Bucket([]byte(bucket)).Cursor(), id: id}
}

func (w *walker) has(other storage.ProfileID) bool {
	if w.next < uint64(other) {
		k, _ := w.cursor.Seek(pairKey(w.id, other))
		w.next = math.MaxUint64
		if bytes.HasPrefix(k, idKey(w.id)) {
			w.next = uint64(binary.BigEndian.Uint32(k[4:]))
		}
	}
	return w.next == uint64(other)
}

// unblocked yields the second halves of the pairs in bucket that begin with id,
// without those of profiles that block or are blocked.
func (s *Store) unblocked(ctx context.Context, bucket string, id storage.ProfileID,
) iter.Seq2[storage.ProfileID, error] {
	return func(yield func(storage.ProfileID, error) bool) {
		var page *bbolt.Tx
		var blocks, blockedBy *walker
		all := iterate(ctx, s, bucket, idKey(id), func(tx *bbolt.Tx, k, _ []byte) (storage.ProfileID, error) {
			if tx != page {
				page, blocks, blockedBy = tx, newWalker(tx, bucketBlocks, id), newWalker(tx, bucketBlockedBy, id)
			}
			other := secondID(k)
			if blocks.has(other) || blockedBy.has(other) {
				return 0, nil
			}
			return other, nil
		})
		for other, err := range all {
			if (other != 0 || err != nil) && !yield(other, err) {
				return
			}
		}
	}
}
