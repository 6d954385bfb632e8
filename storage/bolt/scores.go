package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// scoreRecord is the value of bucketScores.
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
	if value == 0 {
		value = 0 // there are two zeros
	}
	bits := math.Float64bits(value)
	if bits>>63 == 0 {
		bits = ^bits &^ (1 << 63)
	}
	return binary.BigEndian.AppendUint64(nil, bits)
}

// readScore is the reader of bucketScores.
func readScore(tx *bbolt.Tx, k, v []byte) (score storage.Score, err error) {
	if score.ScoreID, err = scoreID(k); err != nil {
		return score, err
	}
	r, err := readRecord[scoreRecord](tx, k, v)
	score.Value, score.Updated = r.Value, r.Updated
	return score, err
}

// getScore returns a score or ErrNotFound.
func getScore(tx *bbolt.Tx, id storage.ScoreID) (storage.Score, error) {
	r, err := get[scoreRecord](tx, bucketScores, scoreKey(id))
	return storage.Score{ScoreID: id, Value: r.Value, Updated: r.Updated}, err
}

// putScore stores a score of a profile, which must exist.
func (c *change) putScore(score storage.Score) error {
	old, err := getScore(c.Tx, score.ScoreID)
	missing := isMissing(err)
	switch {
	case err != nil && !missing:
		return err
	case missing && c.Bucket([]byte(bucketProfiles)).Get(idKey(score.Profile)) == nil:
		return fmt.Errorf("profile %d: %w", score.Profile, storage.ErrNotFound)
	case missing && count(c.Tx, bucketScores, idKey(score.Profile), storage.MaxScores) >= storage.MaxScores:
		return fmt.Errorf("scores of profile %d: %w", score.Profile, storage.ErrFull)
	}
	if missing || old.Value != score.Value {
		board := rankingOf(c.Tx, score.Game, score.Board)
		if !missing {
			if err := board.remove(c, placeOf(old.Value, old.Profile)); err != nil {
				return err
			}
		}
		if err := board.add(c, placeOf(score.Value, score.Profile)); err != nil {
			return err
		}
	}
	return c.put(bucketScores, scoreKey(score.ScoreID), scoreRecord{score.Value, score.Updated})
}

// dropScore removes the score under a key, also a damaged one.
func (c *change) dropScore(key []byte) error {
	id, err := scoreID(key)
	if err != nil {
		return fmt.Errorf("%s %q: %w", bucketScores, key, err)
	}
	board := rankingOf(c.Tx, id.Game, id.Board)
	score, err := getScore(c.Tx, id)
	place := placeOf(score.Value, id.Profile)
	if err != nil {
		place = board.find(id.Profile)
	}
	if place != nil {
		if err := board.remove(c, place); err != nil {
			return err
		}
	}
	return c.delete(bucketScores, key)
}

// credit applies the credits of a report and returns how many there were. Those
// for profiles that cannot have a score are skipped.
func (c *change) credit(credits []storage.Credit, at time.Time) (n int, err error) {
	for _, cr := range credits {
		score, err := getScore(c.Tx, cr.ScoreID)
		first := isMissing(err)
		if err != nil && !first {
			return n, err
		}
		score.Value, score.Updated = cr.How.Apply(score.Value, cr.Value, first), at
		switch err := c.putScore(score); {
		case err == nil:
			n++
		case !isMissing(err) && !isFull(err):
			return n, err
		}
	}
	return n, nil
}

// PutScore is described in [storage.Stats].
func (s *Store) PutScore(ctx context.Context, score storage.Score) error {
	score, err := score.Canonical()
	if err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error { return c.putScore(score) })
}

// DeleteScore is described in [storage.Stats].
func (s *Store) DeleteScore(ctx context.Context, id storage.ScoreID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		if c.Bucket([]byte(bucketScores)).Get(scoreKey(id)) == nil {
			return storage.ErrNotFound
		}
		return c.dropScore(scoreKey(id))
	})
}

// ScoresOf is described in [storage.Stats].
func (s *Store) ScoresOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error] {
	return iterate(ctx, s, bucketScores, idKey(id), readScore)
}

// Ranking is described in [storage.Stats].
func (s *Store) Ranking(ctx context.Context, game, board string, from, n int) (page []storage.Score, err error) {
	if err := storage.CheckRanking(game, board, from, n); err != nil {
		return nil, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		page, err = rankingOf(tx, game, board).page(game, board, from, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ranking %q of %s: %w", board, game, err)
	}
	return page, nil
}

// RankOf is described in [storage.Stats].
func (s *Store) RankOf(ctx context.Context, id storage.ScoreID) (score storage.Score, err error) {
	if err := id.Check(); err != nil {
		return score, err
	}
	err = s.view(ctx, func(tx *bbolt.Tx) error {
		if score, err = getScore(tx, id); err != nil {
			return err
		}
		above, err := rankingOf(tx, id.Game, id.Board).before(valueKey(score.Value))
		score.Rank = above + 1
		return err
	})
	if err != nil {
		return storage.Score{}, err
	}
	return score, nil
}
