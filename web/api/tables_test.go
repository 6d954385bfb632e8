package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web/webtest"
)

const (
	columnsGolden = `{"game":"gmtest","table":"Levels","columns":[{"name":"title","type":"asciiStringValue"},` +
		`{"name":"score","type":"intValue"},{"name":"level","type":"binaryDataValue"}],`
	firstGolden = `{"id":1,"profile":1,"nick":"Ann <b>","created":"2026-01-02T03:04:05Z","changed":"2026-01-02T03:04:05Z",` +
		`"ratings":0,"rating_sum":0,"values":[{"name":"title","type":"asciiStringValue","value":"The <A> level"},` +
		`{"name":"score","type":"intValue","value":"0"},{"name":"level","type":"binaryDataValue","value":"","bytes":6}]}`
	thirdGolden = `{"id":5,"profile":1,"nick":"Ann <b>","created":"2026-01-02T03:04:05Z","changed":"2026-01-02T03:04:05Z",` +
		`"ratings":2,"rating_sum":20,"values":[{"name":"title","type":"asciiStringValue","value":"Third"},` +
		`{"name":"score","type":"intValue","value":"-2"},{"name":"level","type":"binaryDataValue","value":"","bytes":6}]}`
)

func TestTable(t *testing.T) {
	data := webtest.NewStats()
	f := newFixture(t, func(o *Options) { o.Stats = data })
	const path = "/api/v1/games/gmtest/tables/levels"
	for query, want := range map[string]string{
		"?limit=1":        columnsGolden + `"from":0,"records":[` + firstGolden + `],"next":3}`,
		"?limit=1&from=5": columnsGolden + `"from":5,"records":[` + thirdGolden + `]}`,
		"?from=6":         columnsGolden + `"from":6,"records":[]}`,
	} {
		if w := f.Get(path + query); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d, got\n%s\nwant\n%s", query, w.Code, w.Body, want)
		}
	}
	for target, want := range map[string]int{
		path + "?from=-1": 400, path + "?limit=0": 400, path + fmt.Sprint("?limit=", maxRecords+1): 400, path + fmt.Sprint("?limit=", maxRecords): 200, path + "?x=1": 400,
		"/api/v1/games/GMTEST/tables/LEVELS": 200, "/api/v1/games/gmtest/tables/empty": 200,
		"/api/v1/games/gmtest/tables/notes": 404, "/api/v1/games/gmtest/tables/other": 404,
		"/api/v1/games/gmother/tables/levels": 404, "/api/v1/games/nothing/tables/levels": 404,
	} {
		if w := f.Get(target); w.Code != want {
			t.Errorf("%s: got %d, want %d", target, w.Code, want)
		}
	}
	if a, b := f.Get("/api/v1/games/gmtest/tables/notes"), f.Get("/api/v1/games/gmtest/tables/other"); a.Body.String() != b.Body.String() {
		t.Errorf("a table that is not public: %s, want the answer for none", a.Body)
	}
	tag := f.Get(path).Header().Get("ETag")
	if w := f.Get(path, "If-None-Match", tag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("unchanged: got %d, want 304", w.Code)
	}
	data.Records[0].Ratings++
	if w := f.Get(path, "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("changed: got %d, want 200", w.Code)
	}
	delete(data.Profiles, 1)
	if got := webtest.Decode[Table](t, f.Get(path).Body); len(got.Records) != 1 || got.Records[0].ID != 3 {
		t.Errorf("after the deletion of the owner: %+v", got.Records)
	}
	data.Err = errors.New("disk on fire")
	if w := f.Get(path); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "fire") {
		t.Errorf("unreadable: got %d, want 500 without the reason", w.Code)
	}
	if w := newFixture(t).Get(path); w.Code != http.StatusNotFound {
		t.Errorf("without a store: got %d, want 404", w.Code)
	}
}

func TestTable_large(t *testing.T) {
	data := webtest.NewStats()
	large := storage.SakeValue{Type: storage.SakeBinary, Text: make([]byte, maxTableBytes)}
	for i := range 3 {
		data.Records[i].Fields = []storage.SakeField{{Name: "title", Value: large}, {Name: "old", Value: large}}
	}
	f := newFixture(t, func(o *Options) { o.Stats = data })
	got := webtest.Decode[Table](t, f.Get("/api/v1/games/gmtest/tables/levels").Body)
	if len(got.Records) != 1 || got.Next != 3 {
		t.Fatalf("%d large records, next %d, want 1, next 3", len(got.Records), got.Next)
	}
	if v := got.Records[0].Values; len(v) != 1 || v[0].Bytes != maxTableBytes {
		t.Errorf("values %+v, want only that of the declared field", v)
	}
}
