package webtest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Stats are scores and data of players, which the test may change.
type Stats struct {
	Profiles map[storage.ProfileID]storage.Profile
	Scores   []storage.Score
	Blocks   []storage.StatBlock
	Matched  []storage.Match // the newest first
	Records  []storage.OwnedSakeRecord
	Err      error // of every method, if it is not nil
}

// NewStats returns statistics of the game gmtest: Ann (1) and Ben (2) have scores and
// Ann has data, Cid (3) has private data only, Dan (4) has nothing.
func NewStats() *Stats {
	s := &Stats{Profiles: make(map[storage.ProfileID]storage.Profile), Records: newRecords()}
	for i, nick := range []string{"Ann <b>", "Ben", "Cid", "Dan"} {
		id := storage.ProfileID(i + 1)
		s.Profiles[id] = storage.Profile{ID: id, Nick: nick, UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: nick[:3] + "U"}}, FirstName: "Secretname"}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, v := range []struct {
		board string
		id    storage.ProfileID
		value float64
	}{{"kills", 1, 12.5}, {"kills", 2, 30}, {"best", 2, 7}} {
		s.Scores = append(s.Scores, storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: v.board, Profile: v.id}, Value: v.value, Updated: at})
	}
	for _, v := range []struct {
		id    storage.ProfileID
		kind  storage.StatKind
		index int32
		data  string
	}{
		{1, storage.StatPrivateWrite, 0, "\\secret\\private-write\x00"},
		{1, storage.StatPrivateRead, 0, "private-read"},
		{1, storage.StatPublicWrite, 0, "\\clan\\The <A>-Team\\age\\15\\\x00"},
		{1, storage.StatPublicRead, 1, "\x00\x01\x02binary"},
		{1, storage.StatPublicWrite, -2, "plain text"},
		{1, storage.StatPublicWrite, 7, ""},
		{3, storage.StatPrivateWrite, 0, "\\secret\\private-write\x00"},
	} {
		s.Blocks = append(s.Blocks, storage.StatBlock{
			StatBlockID: storage.StatBlockID{Game: "gmtest", Profile: v.id, Kind: v.kind, Index: v.index}, Data: []byte(v.data), Modified: at,
		})
	}
	s.Matched = []storage.Match{
		{ID: 2, Game: "gmtest", Outcome: storage.MatchAgreed, First: at, Players: []storage.MatchPlayer{
			{Profile: 1, Nick: "Ann <b>", Team: 10, Result: "win"}, {Team: 20, Result: "loss"},
		}},
		{ID: 1, Game: "gmtest", Outcome: storage.MatchOpen, First: at, Players: []storage.MatchPlayer{{Profile: 2, Nick: "Ben", Result: "win"}}},
	}
	return s
}

// Matches implements api.Stats.
func (s *Stats) Matches(_ context.Context, game string, before uint64) iter.Seq2[storage.Match, error] {
	return func(yield func(storage.Match, error) bool) {
		if s.Err != nil {
			yield(storage.Match{}, s.Err)
			return
		}
		for _, m := range s.Matched {
			if m.Game == game && m.ID-1 < before-1 && !yield(m, nil) {
				return
			}
		}
	}
}

// Ranking implements api.Stats.
func (s *Stats) Ranking(_ context.Context, game, board string, from, n int) ([]storage.Score, error) {
	list := s.board(game, board)
	return list[min(from, len(list)):min(from+n, len(list))], s.Err
}

// board returns all scores of a board with their ranks.
func (s *Stats) board(game, board string) (list []storage.Score) {
	for _, score := range s.Scores {
		if score.Game == game && score.Board == board {
			list = append(list, score)
		}
	}
	slices.SortStableFunc(list, func(a, b storage.Score) int { return cmp.Compare(b.Value, a.Value) })
	for i := range list {
		list[i].Rank = i + 1
		if i > 0 && list[i].Value == list[i-1].Value {
			list[i].Rank = list[i-1].Rank
		}
	}
	return list
}

// RankOf implements api.Stats.
func (s *Stats) RankOf(_ context.Context, id storage.ScoreID) (storage.Score, error) {
	for _, score := range s.board(id.Game, id.Board) {
		if score.Profile == id.Profile {
			return score, s.Err
		}
	}
	return storage.Score{}, storage.ErrNotFound
}

// ScoresOf implements api.Stats.
func (s *Stats) ScoresOf(_ context.Context, id storage.ProfileID) iter.Seq2[storage.Score, error] {
	return of(s, s.Scores, func(v storage.Score) bool { return v.Profile == id })
}

// StatBlocks implements api.Stats.
func (s *Stats) StatBlocks(_ context.Context, id storage.ProfileID) iter.Seq2[storage.StatBlock, error] {
	return of(s, s.Blocks, func(v storage.StatBlock) bool { return v.Profile == id })
}

// of yields the records that are wanted, or the error of s.
func of[T any](s *Stats, all []T, wanted func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if wanted(v) && !yield(v, s.Err) {
				return
			}
		}
	}
}

// GetProfile implements api.Stats.
func (s *Stats) GetProfile(_ context.Context, id storage.ProfileID) (storage.Profile, error) {
	p, ok := s.Profiles[id]
	if !ok {
		return p, storage.ErrNotFound
	}
	return p, s.Err
}
