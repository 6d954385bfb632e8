package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// matchKey is the key of a match: its id (8 bytes).
func matchKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

// matchOfKey is the key of a match in bucketMatchesOf: the inverted id makes the
// newest the first.
func matchOfKey(game string, id uint64) []byte {
	return binary.BigEndian.AppendUint64(gamePrefix(game), ^id)
}

// matchPlayerKey is the key of a match in bucketMatchPlayers.
func matchPlayerKey(p storage.ProfileID, id uint64) []byte { return append(idKey(p), matchKey(id)...) }

// matchEntries returns the index entries of a match.
func matchEntries(m *storage.Match) []entry {
	all := []entry{{bucket: bucketMatchesOf, key: string(matchOfKey(m.Game, m.ID))}}
	if m.Outcome == storage.MatchOpen {
		all = append(all, entry{bucket: bucketMatchesOpen, key: string(matchKey(m.ID))})
	}
	for _, p := range m.Profiles() {
		all = append(all, entry{bucket: bucketMatchPlayers, key: string(matchPlayerKey(p, m.ID))})
	}
	return all
}

// matchSumKey is the key of the number of matches of a game.
func matchSumKey(game string) []byte { return append([]byte{sumMatches}, game...) }

// PutMatch is described in [storage.Matches].
func (s *Store) PutMatch(ctx context.Context, m storage.Match, credits []storage.Credit, keep int) (storage.Match, error) {
	m, err := m.Canonical()
	if err != nil {
		return storage.Match{}, err
	}
	if err := storage.CheckCredits(credits); err != nil {
		return storage.Match{}, err
	}
	var next storage.Match
	err = s.change(ctx, func(c *change) error {
		next = m
		var old []entry
		open := true
		if m.ID != 0 {
			stored, err := get[storage.Match](c.Tx, bucketMatches, matchKey(m.ID))
			if err != nil {
				return err
			}
			old, open = matchEntries(&stored), stored.Outcome == storage.MatchOpen
		}
		for _, p := range next.Profiles() {
			if _, err := getProfile(c.Tx, p); isMissing(err) {
				next.Forget(p)
			} else if err != nil {
				return err
			}
		}
		if err := c.putMatch(old, &next); err != nil {
			return err
		}
		if open && next.Outcome.Counts() {
			if _, err := c.credit(credits, next.Settled); err != nil {
				return err
			}
		}
		return c.limitMatches(next.Game, next.ID, keep)
	})
	if err != nil {
		return storage.Match{}, fmt.Errorf("match %s: %w", m.Session, err)
	}
	return next, nil
}

// putMatch stores a match whose stored state has the entries old; without an id it
// gets one.
func (c *change) putMatch(old []entry, m *storage.Match) error {
	if m.ID == 0 {
		n, err := c.nextRev(bucketMatches)
		if err != nil {
			return err
		}
		m.ID = uint64(n)
		if c.Bucket([]byte(bucketMatches)).Get(matchKey(m.ID)) != nil {
			return fmt.Errorf("%w: match %d is there already", storage.ErrDamaged, m.ID)
		}
		if _, err := c.addSum(matchSumKey(m.Game), 1, 0); err != nil {
			return err
		}
	}
	next := matchEntries(m)
	for _, e := range old {
		if !slices.Contains(next, e) {
			if err := c.delete(e.bucket, []byte(e.key)); err != nil {
				return err
			}
		}
	}
	for _, e := range next {
		if !slices.Contains(old, e) {
			if err := c.putEntry(e.bucket, []byte(e.key), nil); err != nil {
				return err
			}
		}
	}
	return c.put(bucketMatches, matchKey(m.ID), m)
}

// limitMatches removes the oldest matches of a game beyond a number, but not the match
// stay.
func (c *change) limitMatches(game string, stay uint64, keep int) error {
	for range maxReportDrop {
		n, err := readSum(c.Tx, matchSumKey(game))
		if err != nil || n.records <= int64(keep) {
			return err
		}
		prefix := gamePrefix(game)
		cursor := c.Bucket([]byte(bucketMatchesOf)).Cursor()
		after, _ := cursor.Seek(append(slices.Clone(prefix), bytes.Repeat([]byte{0xff}, 9)...))
		k := lastBefore(cursor, after)
		if len(k) != len(prefix)+8 || !bytes.HasPrefix(k, prefix) {
			return nil
		}
		id := ^binary.BigEndian.Uint64(k[len(prefix):])
		if id == stay {
			return nil
		}
		if err := c.dropMatch(id); err != nil {
			return err
		}
	}
	return nil
}

// dropMatch removes a match and its index entries. Those of a damaged match are
// searched for.
func (c *change) dropMatch(id uint64) error {
	key := matchKey(id)
	m, err := get[storage.Match](c.Tx, bucketMatches, key)
	entries := matchEntries(&m)
	if isDamage(err) {
		m.Game, entries = findMatch(c.Tx, id)
	} else if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.delete(e.bucket, []byte(e.key)); err != nil {
			return err
		}
	}
	if _, err := c.addSum(matchSumKey(m.Game), -1, 0); err != nil {
		return err
	}
	return c.delete(bucketMatches, key)
}

// findMatch returns the game and the index entries of a damaged match. It reads the
// whole of the indexes.
func findMatch(tx *bbolt.Tx, id uint64) (game string, entries []entry) {
	for bucket, suffix := range map[string][]byte{bucketMatchesOf: matchKey(^id), bucketMatchesOpen: matchKey(id), bucketMatchPlayers: matchKey(id)} {
		c := tx.Bucket([]byte(bucket)).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			if !bytes.HasSuffix(k, suffix) {
				continue
			}
			entries = append(entries, entry{bucket: bucket, key: string(k)})
			if bucket == bucketMatchesOf {
				game = string(k[:max(len(k)-9, 0)])
			}
		}
	}
	return game, entries
}

// forgetMatches removes a profile from its matches.
func (c *change) forgetMatches(p storage.ProfileID) error {
	prefix := idKey(p)
	var ids []uint64
	cursor := c.Bucket([]byte(bucketMatchPlayers)).Cursor()
	for k, _ := cursor.Seek(prefix); len(k) == len(prefix)+8 && bytes.HasPrefix(k, prefix); k, _ = cursor.Next() {
		ids = append(ids, binary.BigEndian.Uint64(k[len(prefix):]))
	}
	for _, id := range ids {
		m, err := get[storage.Match](c.Tx, bucketMatches, matchKey(id))
		switch {
		case isMissing(err) || isDamage(err): // a damaged one cannot be read
			err = c.delete(bucketMatchPlayers, matchPlayerKey(p, id))
		case err == nil:
			old := matchEntries(&m)
			m.Forget(p)
			err = c.putMatch(old, &m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readMatch is the reader of an index of matches, whose keys end with the id, inverted
// if flip is all ones.
func readMatch(flip uint64) reader[storage.Match] {
	return func(tx *bbolt.Tx, k, _ []byte) (storage.Match, error) {
		if len(k) < 8 {
			return storage.Match{}, fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(k))
		}
		return get[storage.Match](tx, bucketMatches, matchKey(binary.BigEndian.Uint64(k[len(k)-8:])^flip))
	}
}

// GetMatch is described in [storage.Matches].
func (s *Store) GetMatch(ctx context.Context, id uint64) (storage.Match, error) {
	return fetch[storage.Match](ctx, s, bucketMatches, matchKey(id))
}

// Matches is described in [storage.Matches].
func (s *Store) Matches(ctx context.Context, game string, before uint64) iter.Seq2[storage.Match, error] {
	first := matchOfKey(game, before-1) // 0: all ones, inverted 0
	return iterateFrom(ctx, s, bucketMatchesOf, gamePrefix(game), first, readMatch(^uint64(0)))
}

// OpenMatches is described in [storage.Matches].
func (s *Store) OpenMatches(ctx context.Context) iter.Seq2[storage.Match, error] {
	return iterate(ctx, s, bucketMatchesOpen, []byte{}, readMatch(0))
}

// MatchesOf is described in [storage.Matches].
func (s *Store) MatchesOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Match, error] {
	return iterate(ctx, s, bucketMatchPlayers, idKey(id), readMatch(0))
}

// DeleteMatch is described in [storage.Matches].
func (s *Store) DeleteMatch(ctx context.Context, id uint64) error {
	return s.change(ctx, func(c *change) error { return c.dropMatch(id) })
}

// SweepMatches is described in [storage.Matches].
func (s *Store) SweepMatches(ctx context.Context, before time.Time) (int, error) {
	var old []uint64
	read := func(_ *bbolt.Tx, k, v []byte) (uint64, error) {
		m, err := readRecord[storage.Match](nil, k, v)
		if err == nil && !m.First.Before(before) {
			return 0, errRecent
		}
		return m.ID, err
	}
	for id, err := range iterate(ctx, s, bucketMatches, []byte{}, read) {
		if errors.Is(err, errRecent) {
			break
		}
		if err != nil && !isDamage(err) {
			return 0, fmt.Errorf("sweep matches: %w", err)
		}
		if err == nil {
			old = append(old, id)
		}
	}
	return sweep(ctx, s, "matches", old, func(c *change, id uint64) (int, error) {
		err := c.dropMatch(id)
		switch {
		case err == nil:
			return 1, nil
		case isMissing(err):
			return 0, nil
		}
		return 0, err
	})
}
