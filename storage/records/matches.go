package records

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// matchOfKey is the key of a match in tableMatchesOf: the inverted id makes the
// newest the first.
func matchOfKey(game string, id uint64) []byte {
	return binary.BigEndian.AppendUint64(gamePrefix(game), ^id)
}

// matchEntries returns the index entries of a match.
func matchEntries(m *storage.Match) []entry {
	all := []entry{{t: tableMatchesOf, key: string(matchOfKey(m.Game, m.ID))}}
	if m.Outcome == storage.MatchOpen {
		all = append(all, entry{t: tableMatchesOpen, key: string(numberKey(m.ID))})
	}
	for _, p := range m.Profiles() {
		all = append(all, entry{t: tableMatchPlayers, key: string(append(idKey(p), numberKey(m.ID)...))})
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
	next, err := perform(ctx, s, func(c *change) (storage.Match, error) {
		next := m
		next.Sides, next.Players = slices.Clone(m.Sides), slices.Clone(m.Players)
		old, open := c.matchBefore(&next)
		c.putMatch(old, &next)
		if open && next.Outcome.Counts() {
			c.credit(credits, next.Settled)
		}
		c.limitMatches(next.Game, next.ID, keep)
		return next, nil
	})
	return next, wrapped(err, "match %s", m.Session)
}

// matchBefore returns the index entries of the stored state of a match and whether it is
// open, as one that is not stored is. It forgets profiles in m that do not exist.
func (c *change) matchBefore(m *storage.Match) (old []entry, open bool) {
	players := m.Profiles()
	keys := []engine.Key{{Table: tableMatches, Key: numberKey(m.ID)}, {Table: tableStatSums, Key: matchSumKey(m.Game)}}
	for _, p := range players {
		keys = append(keys, profiles.key(p))
	}
	c.load(keys...)
	open = true
	if m.ID != 0 {
		stored := want[storage.Match](c.view, tableMatches, numberKey(m.ID))
		old, open = matchEntries(&stored), stored.Outcome == storage.MatchOpen
	}
	for _, p := range players {
		if !c.has(tableProfiles, idKey(p)) {
			m.Forget(p)
		}
	}
	return old, open
}

// putMatch stores a match whose stored state has the entries old; without an id it
// gets one.
func (c *change) putMatch(old []entry, m *storage.Match) {
	if m.ID == 0 {
		m.ID = c.next(tableMatches)
		c.addSum(tableStatSums, matchSumKey(m.Game), sum{records: 1})
	}
	c.moveEntries(old, matchEntries(m), nil)
	c.put(tableMatches, numberKey(m.ID), m)
}

// limitMatches removes the oldest matches of a game beyond a number, but not the match
// stay.
func (c *change) limitMatches(game string, stay uint64, keep int) {
	oldest := engine.Prefix(tableMatchesOf, gamePrefix(game))
	oldest.Backward, oldest.Loose = true, true // an older one that is stored meanwhile may stay
	for range maxReportDrop {
		if c.sum(tableStatSums, matchSumKey(game)).records <= int64(keep) {
			return
		}
		e := c.first(oldest)
		if len(e.Key) != len(oldest.From)+8 {
			return
		}
		id := ^binary.BigEndian.Uint64(lastID64(e.Key))
		if id == stay {
			return
		}
		c.failed(c.dropMatch(id))
	}
}

// dropMatch removes a match and its index entries. Those of a damaged match are
// searched for.
func (c *change) dropMatch(id uint64) error {
	key := numberKey(id)
	m, err := get[storage.Match](c.view, tableMatches, key)
	entries := matchEntries(&m)
	if isDamage(err) {
		m.Game, entries = findMatch(c.view, id)
		err = nil
	}
	if err != nil {
		return err
	}
	c.moveEntries(entries, nil, nil)
	c.addSum(tableStatSums, matchSumKey(m.Game), sum{records: -1})
	c.delete(tableMatches, key)
	return nil
}

// findMatch returns the game and the index entries of a damaged match. It reads the
// whole of the indexes.
func findMatch(v *view, id uint64) (game string, entries []entry) {
	for t, suffix := range map[engine.Table][]byte{tableMatchesOf: numberKey(^id), tableMatchesOpen: numberKey(id), tableMatchPlayers: numberKey(id)} {
		for e := range v.scan(whole(t)) {
			if !bytes.HasSuffix(e.Key, suffix) {
				continue
			}
			entries = append(entries, entry{t: t, key: string(e.Key)})
			if t == tableMatchesOf {
				game = string(e.Key[:max(len(e.Key)-9, 0)])
			}
		}
	}
	return game, entries
}

// forgetMatches removes a profile from its matches.
func (c *change) forgetMatches(p storage.ProfileID) {
	index := c.keys(engine.Prefix(tableMatchPlayers, idKey(p)))
	ids := loadEach(c, tableMatches, index, lastID64)
	for i, key := range index {
		m, err := get[storage.Match](c.view, tableMatches, ids[i])
		switch {
		case isMissing(err) || isDamage(err): // a damaged one cannot be read
			c.delete(tableMatchPlayers, key)
		case !c.failed(err):
			old := matchEntries(&m)
			m.Forget(p)
			c.putMatch(old, &m)
		}
	}
}

// GetMatch is described in [storage.Matches].
func (s *Store) GetMatch(ctx context.Context, id uint64) (storage.Match, error) {
	return fetch[storage.Match](ctx, s, tableMatches, numberKey(id))
}

// Matches is described in [storage.Matches].
func (s *Store) Matches(ctx context.Context, game string, before uint64) iter.Seq2[storage.Match, error] {
	r := engine.Prefix(tableMatchesOf, gamePrefix(game))
	r.From = matchOfKey(game, before-1) // 0: all ones, inverted 0
	inverted := func(key []byte) []byte {
		id := bytes.Clone(lastID64(key))
		for i := range id {
			id[i] = ^id[i]
		}
		return id
	}
	return follow(ctx, s, r, tableMatches, inverted, readRecord[storage.Match])
}

// OpenMatches is described in [storage.Matches].
func (s *Store) OpenMatches(ctx context.Context) iter.Seq2[storage.Match, error] {
	return follow(ctx, s, whole(tableMatchesOpen), tableMatches, lastID64, readRecord[storage.Match])
}

// MatchesOf is described in [storage.Matches].
func (s *Store) MatchesOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Match, error] {
	return follow(ctx, s, engine.Prefix(tableMatchPlayers, idKey(id)), tableMatches, lastID64, readRecord[storage.Match])
}

// DeleteMatch is described in [storage.Matches].
func (s *Store) DeleteMatch(ctx context.Context, id uint64) error {
	return s.change(ctx, func(c *change) error { return c.dropMatch(id) })
}

// SweepMatches is described in [storage.Matches].
func (s *Store) SweepMatches(ctx context.Context, before time.Time) (int, error) {
	all := iterate(ctx, s, whole(tableMatches), readRecord[storage.Match])
	old := until(all, func(m *storage.Match) bool { return !m.First.Before(before) })
	return sweep(ctx, s, "matches", old, func(m *storage.Match) (uint64, bool) { return m.ID, true }, func(c *change, id uint64) (int, error) {
		return 1, c.dropMatch(id)
	})
}
