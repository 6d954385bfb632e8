package records

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// scoreRecord is the value of tableScores.
type scoreRecord struct {
	Value   float64   `json:"value"`
	Updated time.Time `json:"updated"`
}

// scoreKey is the key of a score: profile (4 bytes), game, NUL, board.
func scoreKey(id storage.ScoreID) []byte {
	return append(append(append(idKey(id.Profile), id.Game...), 0), id.Board...)
}

// scoreID is the reverse of scoreKey.
func scoreID(key []byte) (id storage.ScoreID, err error) {
	game, board, ok := bytes.Cut(key[min(4, len(key)):], []byte{0})
	if !ok {
		return id, fmt.Errorf("%w: key of a score", storage.ErrDamaged)
	}
	return storage.ScoreID{Game: string(game), Board: string(board), Profile: storage.ProfileID(binary.BigEndian.Uint32(key))}, nil
}

// placeOf is the place of a score in the ranking of its board: the value, so that
// the highest is first (8 bytes), and the profile.
func placeOf(value float64, id storage.ProfileID) []byte {
	return append(valueKey(value), idKey(id)...)
}

// valueKey returns 8 bytes whose order is the reverse of the order of values.
func valueKey(value float64) []byte {
	value = cmp.Or(value, 0) // there are two zeros
	bits := math.Float64bits(value)
	if bits>>63 == 0 {
		bits = ^bits &^ (1 << 63)
	}
	return numberKey(bits)
}

// readScore is the decoder of tableScores.
func readScore(v *view, e engine.Entry) (score storage.Score, err error) {
	if score.ScoreID, err = scoreID(e.Key); err != nil {
		return score, err
	}
	r, err := readRecord[scoreRecord](v, e)
	score.Value, score.Updated = r.Value, r.Updated
	return score, err
}

// getScore returns a score or ErrNotFound.
func getScore(v *view, id storage.ScoreID) (storage.Score, error) {
	r, err := get[scoreRecord](v, tableScores, scoreKey(id))
	return storage.Score{ScoreID: id, Value: r.Value, Updated: r.Updated}, err
}

// scoreKeys returns what putScore reads of the scores of credits first.
func scoreKeys(credits []storage.Credit) (keys []engine.Key) {
	for i := range credits {
		keys = append(keys, engine.Key{Table: tableScores, Key: scoreKey(credits[i].ScoreID)}, profiles.key(credits[i].Profile))
	}
	return keys
}

// loadCredits loads what credit reads.
func (c *change) loadCredits(credits []storage.Credit) {
	c.load(scoreKeys(credits)...)
	if !c.shared {
		return
	}
	var ranges []engine.Range
	var places []engine.Key
	for i := range credits {
		cr := &credits[i]
		old, err := getScore(c.view, cr.ScoreID)
		first := isMissing(err)
		if !first {
			c.failed(err)
		}
		board := rankingOf(c.view, cr.Game, cr.Board)
		was := board.key(placeOf(old.Value, cr.Profile))
		ranges = append(ranges, board.nearest(board.key(placeOf(cr.Apply(old.Value, first), cr.Profile))))
		if first {
			ranges = append(ranges, prefixUpTo(tableScores, idKey(cr.Profile), storage.MaxScores))
		} else {
			ranges, places = append(ranges, board.nearest(was)), append(places, engine.Key{Table: tableRanks, Key: was})
		}
	}
	c.loadRanges(ranges...)
	c.load(places...)
}

// putScore stores a score of a profile, which must exist.
func (c *change) putScore(score storage.Score) error {
	old, err := getScore(c.view, score.ScoreID)
	board, place := rankingOf(c.view, score.Game, score.Board), placeOf(score.Value, score.Profile)
	switch {
	case isMissing(err):
		if err = c.mayAddScore(score.Profile); err == nil {
			board.add(c, place)
		}
	case err == nil && old.Value != score.Value:
		board.move(c, placeOf(old.Value, old.Profile), place)
	}
	if err == nil {
		c.put(tableScores, scoreKey(score.ScoreID), scoreRecord{score.Value, score.Updated})
	}
	return err
}

// mayAddScore returns an error unless a profile exists and may have another score.
func (v *view) mayAddScore(id storage.ProfileID) error {
	if err := v.wantProfile(id); err != nil {
		return err
	}
	if v.count(tableScores, idKey(id), storage.MaxScores) >= storage.MaxScores {
		return fmt.Errorf("scores of profile %d: %w", id, storage.ErrFull)
	}
	return nil
}

// dropScore removes the score under a key, also a damaged one.
func (c *change) dropScore(key []byte) {
	id, err := scoreID(key)
	c.failed(about(tableScores, key, err))
	board := rankingOf(c.view, id.Game, id.Board)
	score, err := getScore(c.view, id)
	place := placeOf(score.Value, id.Profile)
	if isDamage(err) {
		place, err = board.find(id.Profile), nil
	}
	c.failed(err)
	if place != nil {
		board.remove(c, place)
	}
	c.delete(tableScores, key)
}

// credit applies the credits of a report and returns how many there were. Those
// for profiles that cannot have a score are skipped.
func (c *change) credit(credits []storage.Credit, at time.Time) (n int) {
	c.loadCredits(credits)
	for _, cr := range credits {
		score, err := getScore(c.view, cr.ScoreID)
		first := isMissing(err)
		if !first && c.failed(err) {
			break
		}
		score.Value, score.Updated = cr.Apply(score.Value, first), at
		switch err := c.putScore(score); {
		case err == nil:
			n++
		case !isMissing(err) && !isFull(err):
			c.failed(err)
		}
	}
	return n
}

// PutScore is described in [storage.Stats].
func (s *Store) PutScore(ctx context.Context, score storage.Score) error {
	score, err := score.Canonical()
	if err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		c.loadCredits([]storage.Credit{{ScoreID: score.ScoreID, How: storage.ScoreLast, Value: score.Value}})
		return c.putScore(score)
	})
}

// DeleteScore is described in [storage.Stats].
func (s *Store) DeleteScore(ctx context.Context, id storage.ScoreID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		if !c.has(tableScores, scoreKey(id)) {
			return storage.ErrNotFound
		}
		c.dropScore(scoreKey(id))
		return nil
	})
}

// ScoresOf is described in [storage.Stats].
func (s *Store) ScoresOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error] {
	return iterate(ctx, s, engine.Prefix(tableScores, idKey(id)), readScore)
}

// Ranking is described in [storage.Stats].
func (s *Store) Ranking(ctx context.Context, game, board string, from, n int) (page []storage.Score, err error) {
	if err := storage.CheckRanking(game, board, from, n); err != nil {
		return nil, err
	}
	page, err = read(ctx, s, func(v *view) ([]storage.Score, error) { return rankingOf(v, game, board).page(game, board, from, n) })
	return page, wrapped(err, "ranking %q of %s", board, game)
}

// RankOf is described in [storage.Stats].
func (s *Store) RankOf(ctx context.Context, id storage.ScoreID) (score storage.Score, err error) {
	if err := id.Check(); err != nil {
		return score, err
	}
	return read(ctx, s, func(v *view) (storage.Score, error) {
		score, err := getScore(v, id)
		if err == nil {
			score.Rank = rankingOf(v, id.Game, id.Board).before(valueKey(score.Value)) + 1
		}
		return score, err
	})
}
