package bolt

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// Pairs of profiles are kept in two buckets, one for each direction.

// pairKey is the key of a pair.
func pairKey(one, other storage.ProfileID) []byte { return append(idKey(one), idKey(other)...) }

// directions names two buckets that hold the same pairs the other way round.
type directions struct{ there, back string }

func buddyPairs() directions   { return directions{bucketBuddies, bucketBuddyOf} }
func blockPairs() directions   { return directions{bucketBlocks, bucketBlockedBy} }
func requestPairs() directions { return directions{bucketRequests, bucketRequestsFrom} }

// pairBuckets returns all kinds of pairs.
func pairBuckets() []directions { return []directions{buddyPairs(), blockPairs(), requestPairs()} }

// has reports whether a bucket has a pair.
func has(tx *bbolt.Tx, bucket string, one, other storage.ProfileID) bool {
	return tx.Bucket([]byte(bucket)).Get(pairKey(one, other)) != nil
}

// putPair stores a pair without a value of its own.
func (c *change) putPair(d directions, one, other storage.ProfileID) error {
	c.touch(one, other)
	if err := c.putEntry(d.there, pairKey(one, other), nil); err != nil {
		return err
	}
	return c.putEntry(d.back, pairKey(other, one), nil)
}

// deletePair removes a pair, which may be missing.
func (c *change) deletePair(d directions, one, other storage.ProfileID) error {
	c.touch(one, other)
	if err := c.delete(d.there, pairKey(one, other)); err != nil {
		return err
	}
	return c.delete(d.back, pairKey(other, one))
}

// dropPairs removes all pairs in bucket that begin with id, and their other
// direction.
func (c *change) dropPairs(bucket, back string, id storage.ProfileID) error {
	var others []storage.ProfileID
	prefix := idKey(id)
	cursor := c.Bucket([]byte(bucket)).Cursor()
	for k, _ := cursor.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cursor.Next() {
		others = append(others, secondID(k))
	}
	for _, other := range others {
		if err := c.deletePair(directions{bucket, back}, id, other); err != nil {
			return err
		}
	}
	return nil
}

// secondID returns the second half of a pairKey.
func secondID(k []byte) storage.ProfileID {
	return storage.ProfileID(binary.BigEndian.Uint32(k[len(k)-4:]))
}

// checkPair returns an error for equal profiles and for those that do not
// exist.
func checkPair(tx *bbolt.Tx, one, other storage.ProfileID) error {
	if one == other {
		return fmt.Errorf("%w: a profile has no relation to itself", storage.ErrInvalid)
	}
	for _, id := range []storage.ProfileID{one, other} {
		if tx.Bucket([]byte(bucketProfiles)).Get(idKey(id)) == nil {
			return fmt.Errorf("profile %d: %w", id, storage.ErrNotFound)
		}
	}
	return nil
}

// addPair stores a pair of existing profiles, unless the pair exists or owner
// has reached its limit.
func (c *change) addPair(d directions, owner, other storage.ProfileID, index string, limit int) error {
	if err := checkPair(c.Tx, owner, other); err != nil {
		return err
	}
	if has(c.Tx, d.there, owner, other) {
		return &storage.TakenError{Index: index}
	}
	if count(c.Tx, d.there, idKey(owner), limit) >= limit {
		return fmt.Errorf("%s of profile %d: %w", d.there, owner, storage.ErrFull)
	}
	return c.putPair(d, owner, other)
}

// removePair removes a pair or returns ErrNotFound.
func (s *Store) removePair(ctx context.Context, d directions, one, other storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		if !has(c.Tx, d.there, one, other) {
			return storage.ErrNotFound
		}
		return c.deletePair(d, one, other)
	})
}

// pairs yields the second halves of the pairs that begin with id.
func (s *Store) pairs(ctx context.Context, bucket string, id storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return iterate(ctx, s, bucket, idKey(id), func(_ *bbolt.Tx, k, _ []byte) (storage.ProfileID, error) {
		return secondID(k), nil
	})
}

// AddBuddy is described in [storage.Buddies].
func (s *Store) AddBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return s.change(ctx, func(c *change) error { return c.addBuddy(owner, buddy) })
}

// addBuddy adds buddy to the list of owner and removes the open request.
func (c *change) addBuddy(owner, buddy storage.ProfileID) error {
	if err := c.addPair(buddyPairs(), owner, buddy, storage.IndexBuddy, storage.MaxBuddies); err != nil {
		return err
	}
	return c.deletePair(requestPairs(), buddy, owner)
}

// RemoveBuddy is described in [storage.Buddies].
func (s *Store) RemoveBuddy(ctx context.Context, owner, buddy storage.ProfileID) error {
	return s.removePair(ctx, buddyPairs(), owner, buddy)
}

// BuddiesOf is described in [storage.Buddies].
func (s *Store) BuddiesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, bucketBuddies, owner)
}

// HaveAsBuddy is described in [storage.Buddies].
func (s *Store) HaveAsBuddy(ctx context.Context, buddy storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, bucketBuddyOf, buddy)
}

// Watched is described in [storage.Buddies].
func (s *Store) Watched(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.unblocked(ctx, bucketBuddies, owner)
}

// Watchers is described in [storage.Buddies].
func (s *Store) Watchers(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.unblocked(ctx, bucketBuddyOf, id)
}

// AddBlock is described in [storage.Buddies].
func (s *Store) AddBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return s.change(ctx, func(c *change) error { return c.addBlock(owner, other) })
}

// addBlock makes owner block other.
func (c *change) addBlock(owner, other storage.ProfileID) error {
	return c.addPair(blockPairs(), owner, other, storage.IndexBlock, storage.MaxBlocks)
}

// ImportRelations is described in [storage.Buddies].
func (s *Store) ImportRelations(ctx context.Context, owner storage.ProfileID, buddies, blocks []storage.ProfileID) error {
	return s.change(ctx, func(c *change) error {
		if _, err := getProfile(c.Tx, owner); err != nil {
			return err
		}
		for _, kind := range []struct {
			directions
			index string
		}{{buddyPairs(), storage.IndexBuddy}, {blockPairs(), storage.IndexBlock}} {
			if count(c.Tx, kind.there, idKey(owner), 1) > 0 {
				return &storage.TakenError{Index: kind.index}
			}
		}
		for _, buddy := range buddies {
			if err := passOver(c.addBuddy(owner, buddy)); err != nil {
				return err
			}
		}
		for _, other := range blocks {
			if err := passOver(c.addBlock(owner, other)); err != nil {
				return err
			}
		}
		return nil
	})
}

// passOver returns nil for the errors of an impossible pair.
func passOver(err error) error {
	for _, harmless := range []error{storage.ErrTaken, storage.ErrNotFound, storage.ErrInvalid, storage.ErrFull} {
		if errors.Is(err, harmless) {
			return nil
		}
	}
	return err
}

// RemoveBlock is described in [storage.Buddies].
func (s *Store) RemoveBlock(ctx context.Context, owner, other storage.ProfileID) error {
	return s.removePair(ctx, blockPairs(), owner, other)
}

// BlocksOf is described in [storage.Buddies].
func (s *Store) BlocksOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.ProfileID, error] {
	return s.pairs(ctx, bucketBlocks, owner)
}

// Ask is described in [storage.Buddies].
func (s *Store) Ask(ctx context.Context, r storage.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	r.Sent = r.Sent.Round(0).UTC()
	return s.change(ctx, func(c *change) error {
		if err := checkPair(c.Tx, r.From, r.To); err != nil {
			return err
		}
		if has(c.Tx, bucketBuddies, r.From, r.To) {
			return &storage.TakenError{Index: storage.IndexBuddy}
		}
		if !has(c.Tx, bucketRequests, r.To, r.From) {
			if !roomForRequest(c.Tx, r.From, r.To) {
				return fmt.Errorf("requests from profile %d to %d: %w", r.From, r.To, storage.ErrFull)
			}
		}
		if err := c.put(bucketRequests, pairKey(r.To, r.From), r); err != nil {
			return err
		}
		return c.putEntry(bucketRequestsFrom, pairKey(r.From, r.To), nil)
	})
}

// roomForRequest reports whether the limits allow one more request between the
// two.
func roomForRequest(tx *bbolt.Tx, from, to storage.ProfileID) bool {
	if count(tx, bucketRequests, idKey(to), storage.MaxRequestsTo) >= storage.MaxRequestsTo {
		return false
	}
	open, strangers := 0, 0
	prefix := idKey(from)
	cursor := tx.Bucket([]byte(bucketRequestsFrom)).Cursor()
	for k, _ := cursor.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cursor.Next() {
		open++
		if !has(tx, bucketBuddies, secondID(k), from) {
			strangers++
		}
	}
	if strangers >= storage.MaxRequestsToStrangers && !has(tx, bucketBuddies, to, from) {
		return false
	}
	return open < storage.MaxRequestsFrom
}

// Request is described in [storage.Buddies].
func (s *Store) Request(ctx context.Context, from, to storage.ProfileID) (storage.Request, error) {
	return fetch[storage.Request](ctx, s, bucketRequests, pairKey(to, from))
}

// Requests is described in [storage.Buddies].
func (s *Store) Requests(ctx context.Context, to storage.ProfileID) iter.Seq2[storage.Request, error] {
	return iterate(ctx, s, bucketRequests, idKey(to), readRecord[storage.Request])
}

// Accept is described in [storage.Buddies].
func (s *Store) Accept(ctx context.Context, from, to storage.ProfileID, signature string, now time.Time) error {
	return s.change(ctx, func(c *change) error {
		r, err := get[storage.Request](c.Tx, bucketRequests, pairKey(to, from))
		switch {
		case err != nil:
			return err
		case r.Expired(now), subtle.ConstantTimeCompare([]byte(r.Signature), []byte(signature)) != 1:
			return storage.ErrNotFound
		}
		err = c.addPair(buddyPairs(), from, to, storage.IndexBuddy, storage.MaxBuddies)
		if err != nil && !errors.Is(err, storage.ErrTaken) {
			return err
		}
		return c.deletePair(requestPairs(), to, from)
	})
}

// Withdraw is described in [storage.Buddies].
func (s *Store) Withdraw(ctx context.Context, from, to storage.ProfileID) error {
	return s.removePair(ctx, requestPairs(), to, from)
}

// SweepRequests is described in [storage.Buddies].
func (s *Store) SweepRequests(ctx context.Context, now time.Time) (int, error) {
	var over []storage.Request
	err := eachReadable(iterate(ctx, s, bucketRequests, []byte{}, readRecord[storage.Request]), func(r storage.Request) {
		if r.Expired(now) {
			r.Reason = ""
			over = append(over, r)
		}
	})
	if err != nil {
		return 0, fmt.Errorf("sweep requests: %w", err)
	}
	return sweep(ctx, s, "requests", over, func(c *change, r storage.Request) (int, error) {
		present, err := get[storage.Request](c.Tx, bucketRequests, pairKey(r.To, r.From))
		if err != nil || !present.Expired(now) {
			return 0, nil // answered or renewed meanwhile
		}
		return 1, c.deletePair(requestPairs(), r.To, r.From)
	})
}
