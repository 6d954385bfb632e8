package api

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestRanking(t *testing.T) {
	data := webtest.NewStats()
	f := newFixture(t, func(o *Options) { o.Stats = data })
	const path = "/api/v1/games/gmtest/ranking"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ann := PlayerRank{2, 1, "Ann <b>", 12.5, at}
	ben := PlayerRank{1, 2, "Ben", 30, at}
	boards := []BoardName{{"kills", "Most <kills>"}, {"best", "best"}}
	for query, want := range map[string]rankingJSON{
		"":                                {"gmtest", "kills", boards, 0, []PlayerRank{ben, ann}, 0},
		"?board=kills":                    {"gmtest", "kills", boards, 0, []PlayerRank{ben, ann}, 0},
		fmt.Sprint("?limit=", maxRanks):   {"gmtest", "kills", boards, 0, []PlayerRank{ben, ann}, 0},
		"?limit=1":                        {"gmtest", "kills", boards, 0, []PlayerRank{ben}, 1},
		"?limit=1&from=1":                 {"gmtest", "kills", boards, 1, []PlayerRank{ann}, 0},
		fmt.Sprint("?from=", maxFromRank): {"gmtest", "kills", boards, maxFromRank, []PlayerRank{}, 0},
		"?board=best":                     {"gmtest", "best", boards, 0, []PlayerRank{{1, 2, "Ben", 7, at}}, 0},
	} {
		w := f.Get(path + query)
		if got := webtest.Decode[rankingJSON](t, w.Body); w.Code != http.StatusOK || !cmp.Equal(got, want) {
			t.Errorf("%s: %d (-want +got):\n%s", query, w.Code, cmp.Diff(want, got))
		}
	}
	for target, want := range map[string]int{
		path + "?board=none": 404, path + "?from=-1": 400, path + fmt.Sprint("?from=", maxFromRank+1): 400, path + "?limit=0": 400, path + fmt.Sprint("?limit=", maxRanks+1): 400,
		path + "?limit=x": 400, path + "?board=kills&board=best": 400, path + "?x=1": 400,
		"/api/v1/games/gmother/ranking": 404, "/api/v1/games/nothing/ranking": 404,
	} {
		if w := f.Get(target); w.Code != want || w.Header().Get("Content-Type") != front.JSON {
			t.Errorf("%s: got %d, want %d", target, w.Code, want)
		}
	}
	tag := f.Get(path).Header().Get("ETag")
	if w := f.Get(path, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("unchanged: got %d, want 304", w.Code)
	}
	data.Scores[0].Value = 31
	if w := f.Get(path, "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("changed: got %d, want 200", w.Code)
	}
	delete(data.Profiles, 2)
	if got := webtest.Decode[rankingJSON](t, f.Get(path).Body); len(got.Scores) != 1 || got.Scores[0].Profile != 1 {
		t.Errorf("after a player was deleted: %+v, want the other one", got.Scores)
	}
	data.Err = errors.New("disk on fire")
	if w := f.Get(path); w.Code != http.StatusInternalServerError {
		t.Errorf("unreadable: got %d, want 500", w.Code)
	}
}

func TestRanking_pages(t *testing.T) {
	data := webtest.NewStats()
	for i := range 250 {
		id := storage.ProfileID(i + 10)
		data.Profiles[id] = storage.Profile{ID: id, Nick: fmt.Sprint("P", i)}
		data.Scores = append(data.Scores, storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: "best", Profile: id}, Value: float64(i)})
	}
	f := newFixture(t, func(o *Options) { o.Stats = data })
	seen, from := map[storage.ProfileID]bool{}, 0
	for page := 0; page == 0 || from != 0; page++ {
		got := webtest.Decode[rankingJSON](t, f.Get(fmt.Sprint("/api/v1/games/gmtest/ranking?board=best&from=", from)).Body)
		for _, s := range got.Scores {
			seen[s.Profile] = true
		}
		if from = got.Next; page > 3 {
			t.Fatal("pages without end")
		}
	}
	if len(seen) != 251 {
		t.Errorf("%d players on all pages, want 251", len(seen))
	}
	if w := newFixture(t).Get("/api/v1/games/gmtest/ranking"); w.Code != http.StatusNotFound {
		t.Errorf("without statistics: got %d, want 404", w.Code)
	}
}
