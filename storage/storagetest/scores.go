package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

func scoreOf(p storage.ProfileID, value float64) storage.Score {
	return storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: p}, Value: value, Updated: second(0)}
}

func putScore(t tester, s storage.Store, score storage.Score) {
	t.Helper()
	noErr(t, s.PutScore(context.Background(), score), "PutScore", score)
}

// players creates n profiles.
func players(t *testing.T, s storage.Store, n int) []storage.ProfileID {
	t.Helper()
	all := make([]storage.ProfileID, n)
	together(t, n, func(i int) error {
		_, p, err := s.CreateUser(context.Background(), user(fmt.Sprintf("%d@b.c", i)), profile(fmt.Sprintf("P%d", i)))
		all[i] = p.ID
		return err
	})
	return all
}

func testScoreLife(t *testing.T, s storage.Store) {
	ids := players(t, s, 3)
	for i, v := range []float64{-1.5, 1 << 40, 0} {
		putScore(t, s, scoreOf(ids[i], v))
	}
	other := scoreOf(ids[0], 99)
	other.Board = "kills2"
	putScore(t, s, other)
	putScore(t, s, scoreOf(ids[0], 2))
	for i, want := range []int{2, 1, 3} {
		if got, err := s.RankOf(t.Context(), scoreOf(ids[i], 0).ScoreID); got.Rank != want || err != nil {
			t.Errorf("RankOf(%d) = %+v, %v, want rank %d", i, got, err, want)
		}
	}
	want := []storage.Score{scoreOf(ids[0], 2), other}
	differ(t, "scores of a player", collect(t, s.ScoresOf(t.Context(), ids[0])), want)
	wantErr(t, s.DeleteScore(t.Context(), scoreOf(ids[1], 0).ScoreID), nil, "DeleteScore()")
	wantErr(t, s.DeleteScore(t.Context(), scoreOf(ids[1], 0).ScoreID), storage.ErrNotFound, "DeleteScore() again")
	wantErr(t, errOf(s.RankOf(t.Context(), scoreOf(ids[1], 0).ScoreID)), storage.ErrNotFound, "RankOf() after deletion")
	first, last := scoreOf(ids[0], 2), scoreOf(ids[2], 0)
	first.Rank, last.Rank = 1, 2
	page := must(s.Ranking(t.Context(), "gmtest", "kills", 0, 10))(t)
	differ(t, "ranking", page, []storage.Score{first, last})
	if page, err := s.Ranking(t.Context(), "gmtest", "unknown", 0, 10); len(page) > 0 || err != nil {
		t.Errorf("Ranking() of no board = %v, %v", page, err)
	}
	wantErr(t, s.PutScore(t.Context(), scoreOf(ids[2]+100, 1)), storage.ErrNotFound, "PutScore() of no profile")
}

// model returns the ranking of scores by player.
func rankingModel(scores map[storage.ProfileID]float64) (all []storage.Score) {
	for p, v := range scores {
		all = append(all, scoreOf(p, v))
	}
	slices.SortFunc(all, func(a, b storage.Score) int {
		switch {
		case a.Value != b.Value && a.Value > b.Value:
			return -1
		case a.Value != b.Value:
			return 1
		}
		return int(a.Profile) - int(b.Profile)
	})
	for i := range all {
		if all[i].Rank = i + 1; i > 0 && all[i].Value == all[i-1].Value {
			all[i].Rank = all[i-1].Rank
		}
	}
	return all
}

// testScoreModel compares a board whose scores change at random with a sorted
// list, at every size that matters to an engine that counts in parts.
func testScoreModel(t *testing.T, s storage.Store) {
	large(t)
	n := 1500
	if _, distant := s.(Distant); distant || racetest.RaceDetector {
		n = 150 // it is meant for concurrent writers there
	}
	seed := uint64(1)
	random := func() float64 { // 0 to 1, always the same numbers
		seed = seed*6364136223846793005 + 1442695040888963407
		return float64(seed>>11) / (1 << 53)
	}
	ids := players(t, s, n)
	scores := make(map[storage.ProfileID]float64)
	for round, share := range []float64{1, 0.5, 0.9, 0.02, 1, 0} {
		changes := make([]float64, len(ids))
		for i, p := range ids {
			changes[i] = math.Floor((random() - random()) * 600)
			if round%2 == 0 {
				changes[i] += scores[p] / 3
			}
			delete(scores, p)
			if random() < share {
				scores[p] = changes[i]
			} else {
				changes[i] = math.NaN()
			}
		}
		together(t, len(ids), func(i int) error {
			if !math.IsNaN(changes[i]) {
				return s.PutScore(context.Background(), scoreOf(ids[i], changes[i]))
			}
			if err := s.DeleteScore(context.Background(), scoreOf(ids[i], 0).ScoreID); !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			return nil
		})
		want := rankingModel(scores)
		var got []storage.Score
		for from := 0; from == len(got); from += 400 {
			page := must(s.Ranking(t.Context(), "gmtest", "kills", from, 400))(t)
			got = append(got, page...)
		}
		differ(t, fmt.Sprintf("round %d: pages", round), got, want)
		for _, w := range want {
			if random() > 0.05 {
				continue
			}
			if got, err := s.RankOf(t.Context(), w.ScoreID); err != nil || got.Rank != w.Rank {
				t.Errorf("round %d: RankOf(%d) = %d, %v, want %d", round, w.Profile, got.Rank, err, w.Rank)
			}
			if page, err := s.Ranking(t.Context(), "gmtest", "kills", w.Rank-1, 1); err != nil || len(page) != 1 || page[0].Rank != w.Rank {
				t.Errorf("round %d: Ranking() from %d = %v, %v", round, w.Rank-1, page, err)
			}
		}
	}
}

func testScoreTies(t *testing.T, s storage.Store) {
	ids := players(t, s, 6)
	values := []float64{7, 9, 7, 0, 7, math.Copysign(0, -1)}
	for i, p := range ids {
		putScore(t, s, scoreOf(p, values[i]))
	}
	for _, from := range []int{0, 2} {
		page, err := s.Ranking(t.Context(), "gmtest", "kills", from, 10)
		var ranks []int
		for _, score := range page {
			ranks = append(ranks, score.Rank)
		}
		if want := []int{1, 2, 2, 2, 5, 5}[from:]; err != nil || !slices.Equal(ranks, want) {
			t.Errorf("ranks from %d = %v, %v, want %v", from, ranks, err, want)
		}
	}
}

func testScoreLimits(t *testing.T, s storage.Store) {
	ids := players(t, s, 1)
	edge := scoreOf(ids[0], -storage.MaxScore)
	edge.Game, edge.Board = strings.Repeat("g", storage.MaxGameName), strings.Repeat("b", storage.MaxBoardName)
	putScore(t, s, edge)
	for name, change := range map[string]func(*storage.Score){
		"no game":        func(s *storage.Score) { s.Game = "" },
		"game too long":  func(s *storage.Score) { s.Game += "g" },
		"no board":       func(s *storage.Score) { s.Board = "" },
		"board too long": func(s *storage.Score) { s.Board += "b" },
		"no profile":     func(s *storage.Score) { s.Profile = 0 },
		"too low":        func(s *storage.Score) { s.Value = -storage.MaxScore - 2 },
		"too high":       func(s *storage.Score) { s.Value = math.Inf(1) },
		"no number":      func(s *storage.Score) { s.Value = math.NaN() },
	} {
		score := edge
		change(&score)
		wantErr(t, s.PutScore(t.Context(), score), storage.ErrInvalid, "%s: PutScore()", name)
	}
	for _, page := range [][2]int{{-1, 1}, {0, -1}, {0, storage.MaxRankingPage + 1}} {
		wantErr(t, errOf(s.Ranking(t.Context(), "gmtest", "kills", page[0], page[1])), storage.ErrInvalid, "Ranking(%v)", page)
	}
	together(t, storage.MaxScores-1, func(i int) error {
		score := scoreOf(ids[0], 1)
		score.Board = fmt.Sprint("board", i)
		return s.PutScore(context.Background(), score)
	})
	wantErr(t, s.PutScore(t.Context(), scoreOf(ids[0], 1)), storage.ErrFull, "score %d of a profile", storage.MaxScores+1)
	putScore(t, s, edge)
}
