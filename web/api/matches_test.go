package api

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestMatches(t *testing.T) {
	data := webtest.NewStats()
	f := newFixture(t, func(o *Options) { o.Stats = data })
	const path = "/api/v1/games/gmtest/matches"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	second := Match{2, "agreed", true, at, []MatchPlayer{{1, "Ann <b>", 10, "win"}, {0, "", 20, "loss"}}}
	first := Match{1, "open", false, at, []MatchPlayer{{2, "Ben", 0, "win"}}}
	for query, want := range map[string]matchesJSON{
		"":                                {"gmtest", []Match{second, first}, 0},
		fmt.Sprint("?limit=", maxMatches): {"gmtest", []Match{second, first}, 0},
		"?limit=1":                        {"gmtest", []Match{second}, 2},
		"?limit=1&before=2":               {"gmtest", []Match{first}, 0},
		"?before=1":                       {"gmtest", []Match{}, 0},
	} {
		w := f.Get(path + query)
		if got := webtest.Decode[matchesJSON](t, w.Body); w.Code != http.StatusOK || !cmp.Equal(got, want) {
			t.Errorf("%s: %d (-want +got):\n%s", query, w.Code, cmp.Diff(want, got))
		}
	}
	for target, want := range map[string]int{
		path + "?before=-1": 400, path + "?limit=0": 400, path + fmt.Sprint("?limit=", maxMatches+1): 400, path + "?x=1": 400,
		"/api/v1/games/gmother/matches": 200, "/api/v1/games/nothing/matches": 404,
	} {
		if w := f.Get(target); w.Code != want {
			t.Errorf("%s: got %d, want %d", target, w.Code, want)
		}
	}
	tag := f.Get(path).Header().Get("ETag")
	if w := f.Get(path, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("unchanged: got %d, want 304", w.Code)
	}
	data.Matched[0].Outcome = storage.MatchDisputed
	if w := f.Get(path, "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("changed: got %d, want 200", w.Code)
	}
	data.Err = errors.New("disk on fire")
	if w := f.Get(path); w.Code != http.StatusInternalServerError {
		t.Errorf("unreadable: got %d, want 500", w.Code)
	}
}
