package records

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// Pairs of profiles are kept in two tables, one for each direction.

// pairKey is the key of a pair.
func pairKey(one, other storage.ProfileID) []byte { return append(idKey(one), idKey(other)...) }

// directions are two tables that hold the same pairs the other way round.
type directions struct{ there, back engine.Table }

// The kinds of pairs.
var (
	buddyPairs   = directions{tableBuddies, tableBuddyOf}
	blockPairs   = directions{tableBlocks, tableBlockedBy}
	requestPairs = directions{tableRequests, tableRequestsFrom}
)

// requests are the open requests.
var requests = kind[storage.Request]{
	table: tableRequests,
	key:   func(r *storage.Request) []byte { return pairKey(r.To, r.From) },
	over:  (*storage.Request).Expired,
	gone:  func(c *change, r *storage.Request) { c.deletePair(requestPairs, r.To, r.From) },
}

// hasPair reports whether a table has a pair.
func (v *view) hasPair(t engine.Table, one, other storage.ProfileID) bool {
	return v.has(t, pairKey(one, other))
}

// putPair stores a pair without a value of its own.
func (c *change) putPair(d directions, one, other storage.ProfileID) {
	c.touch(one, other)
	c.putEntry(d.there, pairKey(one, other), nil)
	c.putEntry(d.back, pairKey(other, one), nil)
}

// deletePair removes a pair, which may be missing.
func (c *change) deletePair(d directions, one, other storage.ProfileID) {
	c.touch(one, other)
	c.delete(d.there, pairKey(one, other))
	c.delete(d.back, pairKey(other, one))
}

// dropRelations removes all pairs with a profile.
func (c *change) dropRelations(id storage.ProfileID) {
	for _, d := range []directions{buddyPairs, blockPairs, requestPairs} {
		for _, d := range []directions{d, {d.back, d.there}} {
			for _, key := range c.keys(engine.Prefix(d.there, idKey(id))) {
				c.deletePair(d, id, secondID(key))
			}
		}
	}
}

// secondID returns the second half of a pairKey.
func secondID(k []byte) storage.ProfileID {
	return storage.ProfileID(binary.BigEndian.Uint32(k[len(k)-4:]))
}

// loadPair loads two profiles, and their pair in tables.
func (c *change) loadPair(one, other storage.ProfileID, tables ...engine.Table) {
	keys := []engine.Key{profiles.key(one), profiles.key(other)}
	for _, t := range tables {
		keys = append(keys, engine.Key{Table: t, Key: pairKey(one, other)})
	}
	c.load(keys...)
}

// checkPair returns an error for equal profiles and for those that do not exist.
func (v *view) checkPair(one, other storage.ProfileID) error {
	if one == other {
		return fmt.Errorf("%w: a profile has no relation to itself", storage.ErrInvalid)
	}
	return orElse(v.wantProfile(one), v.wantProfile(other))
}

// addPair stores a pair of existing profiles, unless the pair exists or owner
// has reached its limit.
func (c *change) addPair(d directions, owner, other storage.ProfileID, index string, limit int) error {
	if err := c.checkPair(owner, other); err != nil {
		return err
	}
	if c.hasPair(d.there, owner, other) {
		return &storage.TakenError{Index: index}
	}
	if c.count(d.there, idKey(owner), limit) >= limit {
		return fmt.Errorf("%s of profile %d: %w", d.there, owner, storage.ErrFull)
	}
	c.putPair(d, owner, other)
	return nil
}

// removePair removes a pair or returns ErrNotFound.
func (s *Store) removePair(ctx context.Context, d directions, one, other storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		if !c.hasPair(d.there, one, other) {
			return storage.ErrNotFound
		}
		c.deletePair(d, one, other)
		return nil
	})
}

// AddBuddy is described in [storage.Buddies].
func (s *Store) AddBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		c.loadPair(owner, buddy, tableBuddies)
		err := c.addPair(buddyPairs, owner, buddy, storage.IndexBuddy, storage.MaxBuddies)
		if err == nil {
			c.deletePair(requestPairs, buddy, owner)
		}
		return err
	})
}

// RemoveBuddy is described in [storage.Buddies].
func (s *Store) RemoveBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return s.removePair(ctx, buddyPairs, owner, buddy)
}

// Lists is described in [storage.Buddies].
func (s *Store) Lists(ctx context.Context, owner storage.ProfileID) (storage.Lists, error) {
	return look(ctx, s, func(v *view) (l storage.Lists) {
		buddies := engine.Prefix(tableBuddies, idKey(owner))
		blocks, by := buddies, walker{v: v, rest: buddies}
		blocks.Table, by.rest.Table, by.rest.Limit = tableBlocks, tableBlockedBy, walkerKeys
		if s.opt.Shared {
			v.loadRanges(buddies, blocks, by.rest)
		}
		l.Buddies, l.Blocks = v.seconds(buddies), v.seconds(blocks)
		for _, id := range l.Buddies {
			if _, blocked := slices.BinarySearch(l.Blocks, id); !blocked && !by.has(pairKey(owner, id)) {
				l.Watched = append(l.Watched, id)
			}
		}
		return l
	})
}

// seconds returns the second halves of the pairs in a range.
func (v *view) seconds(r engine.Range) (ids []storage.ProfileID) {
	for e := range v.scan(r) {
		ids = append(ids, secondID(e.Key))
	}
	return ids
}

// Watchers is described in [storage.Buddies].
func (s *Store) Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	all := engine.Prefix(tableBuddyOf, idKey(id))
	return paged(ctx, s, all, func(v *view, at engine.Range) (items []item[storage.ProfileID], rest engine.Range, more bool) {
		blocks, by := walker{v: v, rest: all}, walker{v: v, rest: all}
		blocks.rest.Table, blocks.rest.Limit, by.rest.Table, by.rest.Limit = tableBlocks, walkerKeys, tableBlockedBy, walkerKeys
		if s.opt.Shared {
			v.loadRanges(firstPage(at), blocks.rest, by.rest)
		}
		entries, rest, more := pageEntries(v, at)
		for _, e := range entries {
			if !blocks.has(e.Key) && !by.has(e.Key) {
				items = append(items, item[storage.ProfileID]{record: secondID(e.Key)})
			}
		}
		return items, rest, more
	})
}

// AddBlock is described in [storage.Buddies].
func (s *Store) AddBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		c.loadPair(owner, other, tableBlocks)
		return c.addPair(blockPairs, owner, other, storage.IndexBlock, storage.MaxBlocks)
	})
}

// ImportRelations is described in [storage.Buddies].
func (s *Store) ImportRelations(ctx context.Context, owner storage.ProfileID, buddies, blocks []storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		keys := []engine.Key{profiles.key(owner)}
		for _, id := range slices.Concat(buddies, blocks) {
			keys = append(keys, profiles.key(id))
		}
		c.load(keys...)
		profiles.want(c.view, owner)
		c.importPairs(buddyPairs, owner, buddies, storage.IndexBuddy, storage.MaxBuddies)
		c.importPairs(blockPairs, owner, blocks, storage.IndexBlock, storage.MaxBlocks)
		return nil
	})
}

// importPairs stores the first possible pairs of a profile that has none yet. New buddies
// have no open request.
func (c *change) importPairs(d directions, owner storage.ProfileID, others []storage.ProfileID, index string, limit int) {
	if c.count(d.there, idKey(owner), 1) > 0 {
		c.failed(&storage.TakenError{Index: index})
	}
	stored := make(map[storage.ProfileID]bool)
	for _, other := range others {
		if other == owner || stored[other] || len(stored) == limit || !c.has(tableProfiles, idKey(other)) {
			continue
		}
		stored[other] = true
		c.putPair(d, owner, other)
		if d == buddyPairs {
			c.deletePair(requestPairs, other, owner)
		}
	}
}

// RemoveBlock is described in [storage.Buddies].
func (s *Store) RemoveBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return s.removePair(ctx, blockPairs, owner, other)
}

// Ask is described in [storage.Buddies].
func (s *Store) Ask(ctx context.Context, r storage.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	r.Sent = r.Sent.Round(0).UTC()
	return s.change(ctx, func(c *change) error {
		c.loadAsk(r.From, r.To)
		c.failed(c.checkPair(r.From, r.To))
		if c.hasPair(tableBuddies, r.From, r.To) {
			return &storage.TakenError{Index: storage.IndexBuddy}
		}
		if !c.hasPair(tableRequests, r.To, r.From) && !mayAsk(c.view, r.From, r.To) {
			return fmt.Errorf("requests from profile %d to %d: %w", r.From, r.To, storage.ErrFull)
		}
		c.put(tableRequests, pairKey(r.To, r.From), r)
		c.putEntry(tableRequestsFrom, pairKey(r.From, r.To), nil)
		return nil
	})
}

// loadAsk loads what Ask reads of two profiles.
func (c *change) loadAsk(from, to storage.ProfileID) {
	c.load(profiles.key(from), profiles.key(to),
		engine.Key{Table: tableBuddies, Key: pairKey(from, to)}, engine.Key{Table: tableBuddies, Key: pairKey(to, from)},
		engine.Key{Table: tableRequests, Key: pairKey(to, from)})
}

// mayAsk reports whether the limits allow one more request between the two.
func mayAsk(v *view, from, to storage.ProfileID) bool {
	open := v.keys(engine.Prefix(tableRequestsFrom, idKey(from)))
	if len(open) >= storage.MaxRequestsFrom || v.count(tableRequests, idKey(to), storage.MaxRequestsTo) >= storage.MaxRequestsTo {
		return false
	}
	return len(open) < storage.MaxRequestsToStrangers || v.hasPair(tableBuddies, to, from) ||
		strangersAmong(v, open) < storage.MaxRequestsToStrangers
}

// strangersAmong returns how many of the pairs of a profile are with others that do not
// have it as buddy.
func strangersAmong(v *view, pairs [][]byte) (n int) {
	v.load(keysIn(tableBuddyOf, pairs)...)
	for _, key := range pairs {
		if !v.has(tableBuddyOf, key) {
			n++
		}
	}
	return n
}

// Request is described in [storage.Buddies].
func (s *Store) Request(ctx context.Context, from, to storage.ProfileID) (storage.Request, error) {
	return requests.get(ctx, s, pairKey(to, from))
}

// Requests is described in [storage.Buddies].
func (s *Store) Requests(ctx context.Context, to storage.ProfileID) iter.Seq2[storage.Request, error] {
	return iterate(ctx, s, engine.Prefix(tableRequests, idKey(to)), readRecord[storage.Request])
}

// Accept is described in [storage.Buddies].
func (s *Store) Accept(ctx context.Context, from, to storage.ProfileID, signature string, now time.Time) error {
	return s.change(ctx, func(c *change) error {
		c.loadAsk(from, to)
		r, err := get[storage.Request](c.view, tableRequests, pairKey(to, from))
		switch {
		case err != nil:
			return err
		case r.Expired(now), subtle.ConstantTimeCompare([]byte(r.Signature), []byte(signature)) != 1:
			return storage.ErrNotFound
		}
		err = c.addPair(buddyPairs, from, to, storage.IndexBuddy, storage.MaxBuddies)
		if err != nil && !errors.Is(err, storage.ErrTaken) {
			return err
		}
		c.deletePair(requestPairs, to, from)
		return nil
	})
}

// SweepRequests is described in [storage.Buddies].
func (s *Store) SweepRequests(ctx context.Context, now time.Time) (int, error) {
	return requests.sweep(ctx, s, now)
}
