package competition

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// newRated is newWorld with a board of ratings for matches that have the key 74.
func newRated(t *testing.T) *world {
	t.Helper()
	return newWorld(t, func(o *Options) {
		o.Boards = func(string) []games.Board { return []games.Board{{Name: "ranked-1v1", Key: "74", How: games.BoardElo}} }
		o.Ticket = func(ticket string) (storage.ProfileID, error) {
			if ticket == "of-1" {
				return 1, nil
			}
			return 0, errors.New("unknown ticket")
		}
	})
}

// match plays a match that all players report.
func (w *world) match(flag int64, results ...Result) {
	w.t.Helper()
	csid, conns := w.play(len(results), false)
	r := result(w.t, conns, results...)
	r.Values = []Value{{Key: 74, Type: TypeInt32, Int: flag}}
	for p := range results {
		w.ok(w.submit(csid, conns, p+1, r))
	}
}

// The figures are those of the formula, computed apart.
func TestRatings(t *testing.T) {
	w := newRated(t)
	for _, step := range []struct {
		flag     int64
		results  []Result
		ann, ben float64
	}{
		{1, []Result{Win, Loss}, 1220, 1180},
		{0, []Result{Win, Loss}, 1220, 1180}, // not a ranked match
		{1, []Result{Win, Loss}, 1238, 1162},
		{1, []Result{Draw, Draw}, 1234, 1166},
		{1, []Result{Win, Disconnect}, 1250, 1142},
		{1, []Result{Desync, Desync}, 1250, 1142},
		{1, []Result{Loss, Win}, 1224, 1168},
	} {
		w.match(step.flag, step.results...)
		if ann, ben := w.score("ranked-1v1", 1), w.score("ranked-1v1", 2); ann != step.ann || ben != step.ben {
			t.Errorf("after %v with key %d: %v and %v, want %v and %v", step.results, step.flag, ann, ben, step.ann, step.ben)
		}
	}
	if n := w.score("ranked-1v1"+gamesBoard, 1); n != 5 {
		t.Errorf("%v matches counted, want 5", n)
	}
}

func TestRatingSteps(t *testing.T) {
	for name, tt := range map[string]struct {
		p    rated
		with []rated // the opponents
		want float64
	}{
		"newcomer":    {rated{rating: 1200, games: 29, result: Win}, []rated{{team: 1, rating: 1400}}, 1230},
		"established": {rated{rating: 1400, games: 50, result: Loss}, []rated{{team: 1, rating: 1200}}, 1385},
		"leaver":      {rated{rating: 1300, games: 40, result: Disconnect}, []rated{{team: 1, rating: 1300}}, 1285},
		"elite":       {rated{rating: 2400, games: 40, result: Loss}, []rated{{team: 1, rating: 2400}}, 2395},
		"floor":       {rated{rating: 105, result: Loss}, []rated{{team: 1, rating: 105}}, 100},
		"a team":      {rated{rating: 1200, games: 40, result: Win}, []rated{{team: 0, rating: 9999}, {team: 1, rating: 1100}, {team: 1, rating: 1300}}, 1210},
	} {
		if got, ok := tt.p.after(append(tt.with, tt.p)); !ok || got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	if _, ok := (&rated{result: Win}).after([]rated{{}}); ok {
		t.Error("a match without opponents changes a rating")
	}
}

func TestLadderPage(t *testing.T) {
	w := newRated(t)
	put := storage.Match{Game: "redalert3pc", Session: "01234567-89ab-cdef-0123-456789abcdef", Outcome: storage.MatchAgreed}
	_, err := w.store.PutMatch(t.Context(), put, []storage.Credit{{
		ScoreID: storage.ScoreID{Game: "redalert3pc", Board: "ranked-1v1", Profile: 1}, How: storage.ScoreLast, Value: 1350,
	}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	const fixed = "72587,1,-1,-1,72743,1,-1,-1,75643,1,-1,-1,75677,1,-1,-1,75679,1,-1,-1,75680,1,-1,-1,75681,1,-1,-1,75682,1,-1,-1," +
		"75683,1,-1,-1,75684,1,-1,-1,75685,1,-1,-1,75686,1,-1,-1,"
	for query, want := range map[string]string{
		"gp=of-1": fixed + "58938,32034,-1,1350,58940,1088,-1,1350,", "gp=unknown": fixed + "58938,32034,-1,1200,58940,1088,-1,1200,", "": fixed + "58938,32034,-1,1200,58940,1088,-1,1200,",
	} {
		rec := httptest.NewRecorder()
		page := w.backend.Pages()[0]
		page.Serve(rec, httptest.NewRequestWithContext(t.Context(), "GET", page.Path+"?"+query, nil), &soap.Request{})
		if rec.Body.String() != want || !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: %q, %v, want %q", query, rec.Body, rec.Header(), want)
		}
	}
}

// A player with two connections in a match does not beat itself, and the credits of a match stay
// within their limit, without which it is not stored.
func TestRatingsOfOnePlayer(t *testing.T) {
	w := newRated(t)
	a, b, c := GUID{1}, GUID{2}, GUID{3}
	m := &storage.Match{Game: "gmtest", Sides: []storage.MatchSide{
		{Profile: 1, Conns: []string{a.String(), b.String()}}, {Profile: 2, Conns: []string{c.String()}},
	}}
	r := &Report{Values: []Value{{Key: 74, Type: TypeInt32, Int: 1}}, Players: []Player{{Conn: a, Team: 0, Result: Win}, {Conn: b, Team: 1, Result: Loss}}}
	if out, err := w.backend.ratings(t.Context(), m, r, 10); err != nil || out != nil {
		t.Errorf("a player against itself gets %v, %v", out, err)
	}
	r.Players = append(r.Players, Player{Conn: c, Team: 1, Result: Loss})
	for room, want := range []int{0, 0, 2, 2, 4} {
		if out, err := w.backend.ratings(t.Context(), m, r, room); err != nil || len(out) != want {
			t.Errorf("with room for %d: %d credits, %v, want %d", room, len(out), err, want)
		}
	}
}
