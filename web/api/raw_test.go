package api

import (
	"net/http"
	"testing"

	"github.com/respawnd/respawnd/web/webtest"
)

func TestRaw(t *testing.T) {
	f := newFixture(t)
	for addr, game := range map[string]string{"192.0.2.1:27910": "quake2", "192.0.2.2:31510": "kingpin", "192.0.2.3:27500": "quakeworld"} {
		f.Put(webtest.Listed{Addr: addr, Game: game})
	}
	const one = "\xc0\x00\x02\x01\x6d\x06"
	for path, want := range map[string]struct{ body, kind string }{
		"/v1/q2?raw=1":              {"192.0.2.1:27910\n", textType},
		"/v1/q2?raw=2":              {one, rawType},
		"/v1/q2?raw=1&game=kingpin": {"192.0.2.2:31510\n", textType},
		"/raw/quakeworld.txt":       {"192.0.2.3:27500\n", textType},
		"/raw/hexenworld.txt":       {"", textType},
	} {
		w := f.Get(path)
		if w.Code != http.StatusOK || w.Body.String() != want.body || w.Header().Get("Content-Type") != want.kind {
			t.Errorf("%s: %d, %v, %q, want %q", path, w.Code, w.Header(), w.Body, want.body)
		}
		if got := f.Get(path, "If-None-Match", w.Header().Get("ETag")); got.Code != http.StatusNotModified {
			t.Errorf("%s: status %d with the tag", path, got.Code)
		}
	}
	if got := f.Get("http://q2servers.com:8080/?raw=2").Body.String(); got != one {
		t.Errorf("at the name of another master: %q, want %q", got, one)
	}
	for path, want := range map[string]int{
		"/v1/q2": http.StatusBadRequest, "/v1/q2?raw=3": http.StatusBadRequest, "/raw/quakeworld": http.StatusNotFound, "/raw/.txt": http.StatusNotFound,
	} {
		if w := f.Get(path); w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}
