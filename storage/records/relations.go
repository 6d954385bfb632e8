package records

import (
	"bytes"
	"context"
	"sync"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// maxRelations is the maximum number of cached relations. When there are more,
// all are dropped.
const maxRelations = 1 << 16

// relations caches the results of Relation, which is called for every message, in a store
// that nothing else changes. A change drops its pairs after it is durable and before its
// method returns, so that a caller never sees a state older than its own change.
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
	r, err := look(ctx, s, p.read)
	if err != nil {
		return storage.Relation{}, err
	}
	if !s.opt.Shared { // others change relations without a word
		s.relations.remember(p, r, mark)
	}
	return seenFrom(r, inOrder), nil
}

// read returns the relation of a pair.
func (p pair) read(v *view) storage.Relation {
	there, back := pairKey(p.low, p.high), pairKey(p.high, p.low)
	v.load(engine.Key{Table: tableBuddies, Key: there}, engine.Key{Table: tableBuddies, Key: back},
		engine.Key{Table: tableBlocks, Key: there}, engine.Key{Table: tableBlocks, Key: back})
	return storage.Relation{
		Buddy: v.has(tableBuddies, there), BuddyOf: v.has(tableBuddies, back),
		Blocks: v.has(tableBlocks, there), BlockedBy: v.has(tableBlocks, back),
	}
}

// walkerKeys is how many pairs a walker reads at once.
const walkerKeys = 64

// A walker reports whether a table has pairs of one profile, which must be asked for in
// the order of their keys. Most profiles have none, so that it reads once.
type walker struct {
	v    *view
	rest engine.Range // that was not read
	keys [][]byte     // that were read and not passed
	done bool         // rest is empty
}

// pass passes the keys below one.
func (w *walker) pass(key []byte) {
	for len(w.keys) > 0 && bytes.Compare(w.keys[0], key) < 0 {
		w.keys = w.keys[1:]
	}
}

func (w *walker) has(key []byte) bool {
	w.pass(key)
	for len(w.keys) == 0 && !w.done {
		w.keys = w.v.keys(w.rest)
		w.done, w.rest.From = len(w.keys) < walkerKeys, key
		w.pass(key)
	}
	return len(w.keys) > 0 && bytes.Equal(w.keys[0], key)
}
