package competition

import (
	"bytes"
	"image/png"
	"net/http/httptest"
	"testing"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/webservices/soap"
)

// modes has boards of ratings from key 74 on.
func modes() (boards []games.Board) {
	for i, name := range []string{"ranked-1v1", "ranked-2v2", "clan-1v1", "clan-2v2"} {
		boards = append(boards, games.Board{Name: name, Key: []string{"74", "75", "76", "77"}[i], How: games.BoardElo})
	}
	return boards
}

// TestTotals plays matches of three modes and one of none, and counts.
func TestTotals(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Boards = func(string) []games.Board { return modes() } })
	for _, m := range []struct {
		key     uint16
		results []Result
	}{
		{73, []Result{Win, Loss}}, {74, []Result{Win, Disconnect}}, {77, []Result{Loss, Win}}, {77, []Result{Desync, Desync}}, {72, []Result{Win, Loss}}, {74, []Result{Draw, Draw}},
	} {
		csid, conns := w.play(len(m.results), false)
		r := result(t, conns, m.results...)
		r.Values = []Value{{Key: m.key, Type: TypeByte, Int: 1}, {Key: 62, Type: TypeInt32, Int: 600}}
		for p := range m.results {
			w.ok(w.submit(csid, conns, p+1, r))
		}
	}
	for board, want := range map[string][2]float64{
		"unranked-win": {1, 0}, "unranked-loss": {0, 1}, "unranked-seconds": {600, 600}, "ranked-1v1-win": {1, 0}, "ranked-1v1-disconnect": {0, 1}, "ranked-1v1-seconds": {600, 600},
		"clan-2v2-win": {0, 1}, "clan-2v2-desync": {1, 1}, "clan-2v2-seconds": {1200, 1200}, "experience": {3, 5},
	} {
		if got := [2]float64{w.score(board, 1), w.score(board, 2)}; got != want {
			t.Errorf("%s: %v, want %v", board, got, want)
		}
	}
}

// TestTotalsHaveBounds has a match whose time is a lie, and more credits than there may be.
func TestTotalsHaveBounds(t *testing.T) {
	for _, tt := range []struct {
		seconds int64
		want    float64
	}{{-5, 0}, {1e9, maxSeconds}} {
		m := &storage.Match{Game: "gmtest", Sides: []storage.MatchSide{{Profile: 1, Conns: []string{GUID{}.String()}}}}
		r := &Report{Players: []Player{{}}, Values: []Value{{Key: 74, Type: TypeByte, Int: 1}, {Key: 62, Type: TypeInt32, Int: tt.seconds}}}
		got := 0.0
		for _, c := range totals(m, r, modes(), 9) {
			if c.Board == "ranked-1v1-seconds" {
				got = c.Value
			}
		}
		if got != tt.want {
			t.Errorf("a match of %d seconds counts %v, want %v", tt.seconds, got, tt.want)
		}
		if n := len(totals(m, r, modes(), 1)); n != 1 {
			t.Errorf("%d credits, want 1", n)
		}
	}
}

// TestIcon asks for the icons of a player, of one without matches, and of a level.
func TestIcon(t *testing.T) {
	w := newRated(t)
	put := storage.Match{Game: "redalert3pc", Session: "01234567-89ab-cdef-0123-456789abcdef", Outcome: storage.MatchAgreed}
	_, err := w.store.PutMatch(t.Context(), put, []storage.Credit{{
		ScoreID: storage.ScoreID{Game: "redalert3pc", Board: "experience", Profile: 1}, How: storage.ScoreLast, Value: 150,
	}}, 10)
	if err != nil {
		t.Fatal(err)
	}
	page := w.backend.iconPages()[0]
	for query, want := range map[string]int{"pid=1": 11, "pid=2": 1, "": 1, "pid=1&ro=87": 87, "pid=1&ro=88": 11, "ro=x": 1} {
		rec := httptest.NewRecorder()
		page.Serve(rec, httptest.NewRequestWithContext(t.Context(), "GET", page.Path+"?size=L&gp=x&"+query, nil), &soap.Request{})
		if !bytes.Equal(rec.Body.Bytes(), drawLevel(want)) {
			t.Errorf("%s: not the icon of level %d", query, want)
		}
	}
	if p, err := png.Decode(bytes.NewReader(drawLevel(42))); err != nil || p.Bounds().Dx() != iconSize {
		t.Errorf("the icon cannot be read: %v", err)
	}
}
