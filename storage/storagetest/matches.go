package storagetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// guid returns a GUID of one digit.
func guid(digit string) string {
	parts := make([]string, 0, 5)
	for _, n := range []int{8, 4, 4, 4, 12} {
		parts = append(parts, strings.Repeat(digit, n))
	}
	return strings.Join(parts, "-")
}

// match returns an open match of two profiles and a guest.
func match(one, other storage.ProfileID) storage.Match {
	return storage.Match{
		Game: "gmtest", Session: guid("1"), Outcome: storage.MatchOpen, Began: moment(), First: moment(),
		Sides: []storage.MatchSide{
			{Profile: one, Nick: "One", Conns: []string{guid("a")}, Host: true, Version: 1},
			{Profile: other, Nick: "Other", Conns: []string{guid("b"), guid("c")}},
		},
		Players: []storage.MatchPlayer{
			{Profile: one, Nick: "One", Team: 10, Result: "win", Values: []storage.MatchValue{{Key: 7, Text: "3"}}},
			{Profile: other, Nick: "Other", Team: 20, Result: "loss"},
			{Team: 20, Result: "loss"},
		},
		Teams:    []storage.MatchTeam{{ID: 10, Result: "win"}, {ID: 20, Result: "loss"}},
		Values:   []storage.MatchValue{{Key: 1, Text: "mapname"}},
		Versions: []storage.MatchVersion{{Report: []byte{1, 2, 3}, At: moment()}},
	}
}

// manyMatches is how many matches are kept in tests of other things.
const manyMatches = 1000

func putMatch(t *testing.T, s storage.Store, m storage.Match, credits ...storage.Credit) storage.Match {
	t.Helper()
	stored, err := s.PutMatch(t.Context(), m, credits, manyMatches)
	if err != nil {
		t.Fatalf("PutMatch(%+v) = %v", m, err)
	}
	return stored
}

// matchCalls is every method of matches.
func matchCalls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"PutMatch":     func(ctx context.Context) error { return errOf(s.PutMatch(ctx, match(77, 78), nil, manyMatches)) },
		"GetMatch":     func(ctx context.Context) error { return errOf(s.GetMatch(ctx, 77)) },
		"Matches":      func(ctx context.Context) error { return firstError(s.Matches(ctx, "late", 0)) },
		"OpenMatches":  func(ctx context.Context) error { return firstError(s.OpenMatches(ctx)) },
		"MatchesOf":    func(ctx context.Context) error { return firstError(s.MatchesOf(ctx, 77)) },
		"DeleteMatch":  func(ctx context.Context) error { return s.DeleteMatch(ctx, 77) },
		"SweepMatches": func(ctx context.Context) error { return errOf(s.SweepMatches(ctx, moment())) },
	}
}

func matchTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"put, settle, list, delete":             testMatchLife,
		"credits are applied once":              testMatchCredits,
		"the oldest of a game give way":         testMatchLimit,
		"old ones are swept":                    testMatchSweep,
		"a deleted profile is forgotten":        testMatchProfile,
		"records beyond the limits are refused": testMatchLimits,
	}
}

func testMatchLife(t *testing.T, s storage.Store) {
	ps := people(t, s, 2)
	first, second := putMatch(t, s, match(ps[0].ID, ps[1].ID)), putMatch(t, s, match(ps[1].ID, ps[0].ID))
	elsewhere := match(ps[0].ID, ps[0].ID)
	elsewhere.Game = "gmtest2"
	other := putMatch(t, s, elsewhere)
	if first.ID == 0 || second.ID <= first.ID || other.ID <= second.ID {
		t.Errorf("ids %d, %d, %d", first.ID, second.ID, other.ID)
	}
	differ(t, "match", must(s.GetMatch(t.Context(), first.ID))(t), first)
	differ(t, "open matches", collect(t, s.OpenMatches(t.Context())), []storage.Match{first, second, other})
	first.Outcome, first.Settled = storage.MatchAgreed, moment().Add(time.Minute)
	first.Sides[1].Version = 1
	putMatch(t, s, first)
	differ(t, "matches", collect(t, s.Matches(t.Context(), "gmtest", 0)), []storage.Match{second, first})
	differ(t, "matches below the second", collect(t, s.Matches(t.Context(), "gmtest", second.ID)), []storage.Match{first})
	differ(t, "matches below the first", collect(t, s.Matches(t.Context(), "gmtest", first.ID)), nil)
	differ(t, "open matches after one is settled", collect(t, s.OpenMatches(t.Context())), []storage.Match{second, other})
	differ(t, "matches of a profile", collect(t, s.MatchesOf(t.Context(), ps[1].ID)), []storage.Match{first, second})
	for _, want := range []error{nil, storage.ErrNotFound} {
		if err := s.DeleteMatch(t.Context(), second.ID); !errors.Is(err, want) {
			t.Errorf("DeleteMatch() = %v, want %v", err, want)
		}
	}
	wantErr(t, errOf(s.PutMatch(t.Context(), second, nil, manyMatches)), storage.ErrNotFound, "PutMatch() of a deleted one")
	differ(t, "open matches after deleting", collect(t, s.OpenMatches(t.Context())), []storage.Match{other})
	if next := putMatch(t, s, match(ps[0].ID, ps[1].ID)); next.ID <= other.ID {
		t.Errorf("id %d after %d", next.ID, other.ID)
	}
}

func testMatchCredits(t *testing.T, s storage.Store) {
	ps := people(t, s, 2)
	id := storage.ScoreID{Game: "gmtest", Board: "wins", Profile: ps[0].ID}
	win := storage.Credit{ScoreID: id, How: storage.ScoreSum, Value: 1}
	value := func() float64 {
		score, err := s.RankOf(t.Context(), id)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			t.Fatal(err)
		}
		return score.Value
	}
	for i, step := range []struct {
		outcome storage.MatchOutcome
		want    float64
	}{{storage.MatchDisputed, 0}, {storage.MatchOpen, 0}, {storage.MatchAgreed, 1}} {
		m := match(ps[0].ID, ps[1].ID)
		m.Outcome, m.Settled = step.outcome, moment()
		putMatch(t, s, m, win)
		if got := value(); got != step.want {
			t.Errorf("step %d: score %v after a match that is %s, want %v", i, got, step.outcome, step.want)
		}
	}
	m := putMatch(t, s, match(ps[0].ID, ps[1].ID), win)
	m.Outcome, m.Settled = storage.MatchHost, moment()
	for range 3 {
		m = putMatch(t, s, m, win)
	}
	if got := value(); got != 2 {
		t.Errorf("score %v after a match that was settled once, want 2", got)
	}
	id.Board = "rating"
	for i, want := range []float64{1180, 1160} {
		m := match(ps[0].ID, ps[1].ID)
		m.Outcome, m.Settled = storage.MatchAgreed, moment()
		putMatch(t, s, m, storage.Credit{ScoreID: id, How: storage.ScoreSum, Value: -20, Start: 1200})
		if got := value(); got != want {
			t.Errorf("score %v after %d steps from 1200, want %v", got, i+1, want)
		}
	}
}

func testMatchLimit(t *testing.T, s storage.Store) {
	ps := people(t, s, 2)
	other := match(ps[0].ID, ps[1].ID)
	other.Game = "other"
	other = putMatch(t, s, other)
	var all []storage.Match
	for range 5 {
		m := must(s.PutMatch(t.Context(), match(ps[0].ID, ps[1].ID), nil, 3))(t)
		all = append(all, m)
	}
	differ(t, "matches", collect(t, s.Matches(t.Context(), "gmtest", 0)), []storage.Match{all[4], all[3], all[2]})
	m := must(s.PutMatch(t.Context(), all[3], nil, 1))(t)
	differ(t, "matches after a change", collect(t, s.Matches(t.Context(), "gmtest", 0)), []storage.Match{all[4], m})
	differ(t, "open matches", collect(t, s.OpenMatches(t.Context())), []storage.Match{other, m, all[4]})
}

func testMatchSweep(t *testing.T, s storage.Store) {
	ps := people(t, s, 2)
	var all []storage.Match
	for i := range 3 {
		m := match(ps[0].ID, ps[1].ID)
		m.First = moment().Add(time.Duration(i) * time.Hour)
		all = append(all, putMatch(t, s, m))
	}
	differ(t, "SweepMatches()", must(s.SweepMatches(t.Context(), moment().Add(time.Hour)))(t), 1)
	differ(t, "matches", collect(t, s.Matches(t.Context(), "gmtest", 0)), []storage.Match{all[2], all[1]})
	differ(t, "matches of a profile", collect(t, s.MatchesOf(t.Context(), ps[0].ID)), all[1:])
}

func testMatchProfile(t *testing.T, s storage.Store) {
	ps := people(t, s, 2)
	m := putMatch(t, s, match(ps[0].ID, ps[1].ID))
	noErr(t, s.DeleteUser(t.Context(), ps[1].User))
	m.Forget(ps[1].ID)
	got := must(s.GetMatch(t.Context(), m.ID))(t)
	differ(t, "match", got, m)
	if got.Sides[1].Profile != 0 || got.Sides[1].Nick != "" || got.Players[1].Profile != 0 || got.Players[1].Nick != "" || len(got.Sides[1].Conns) != 0 {
		t.Errorf("a deleted profile in %+v", got)
	}
	differ(t, "matches of the deleted", collect(t, s.MatchesOf(t.Context(), ps[1].ID)), nil)
	differ(t, "matches of the other", collect(t, s.MatchesOf(t.Context(), ps[0].ID)), []storage.Match{got})
	late := putMatch(t, s, match(ps[0].ID, ps[1].ID))
	if late.Players[1].Profile != 0 || late.Players[1].Nick != "" {
		t.Errorf("a match stored after a profile was deleted names it: %+v", late)
	}
}

func testMatchLimits(t *testing.T, s storage.Store) {
	ps := people(t, s, 1)
	edge := match(ps[0].ID, ps[0].ID)
	edge.Versions[0].Report = make([]byte, storage.MaxMatchReport)
	edge.Versions = append(edge.Versions, edge.Versions[0])
	edge.Values[0].Text = strings.Repeat("v", storage.MaxMatchText)
	putMatch(t, s, edge)
	for name, change := range map[string]func(*storage.Match){
		"no game":              func(m *storage.Match) { m.Game = "" },
		"no session":           func(m *storage.Match) { m.Session = "" },
		"unknown outcome":      func(m *storage.Match) { m.Outcome = "won" },
		"too many sides":       func(m *storage.Match) { m.Sides = make([]storage.MatchSide, storage.MaxMatchSides+1) },
		"too many players":     func(m *storage.Match) { m.Players = make([]storage.MatchPlayer, storage.MaxMatchPlayers+1) },
		"too many teams":       func(m *storage.Match) { m.Teams = make([]storage.MatchTeam, storage.MaxMatchPlayers+1) },
		"too many versions":    func(m *storage.Match) { m.Versions = make([]storage.MatchVersion, storage.MaxMatchVersions+1) },
		"too many values":      func(m *storage.Match) { m.Values = make([]storage.MatchValue, storage.MaxMatchValues+1) },
		"too many connections": func(m *storage.Match) { m.Sides[0].Conns = make([]string, storage.MaxMatchConns+1) },
		"half a connection":    func(m *storage.Match) { m.Sides[0].Conns = []string{"aaaa"} },
		"report too long":      func(m *storage.Match) { m.Versions[0].Report = make([]byte, storage.MaxMatchReport+1) },
		"value too long":       func(m *storage.Match) { m.Values[0].Text = strings.Repeat("v", storage.MaxMatchText+1) },
		"line in a nick":       func(m *storage.Match) { m.Players[0].Nick = "a\nb" },
	} {
		m := match(ps[0].ID, ps[0].ID)
		change(&m)
		wantErr(t, errOf(s.PutMatch(t.Context(), m, nil, manyMatches)), storage.ErrInvalid, "%s: PutMatch()", name)
	}
}
