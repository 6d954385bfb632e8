package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/web/webtest"
)

func TestExports(t *testing.T) {
	f := newFixture(t)
	for i := range 900 {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.%d.%d:6500", i/250, i%250+1), Rules: []string{"hostname", strings.Repeat("x", 60), "numplayers", fmt.Sprint(900 - i)}})
	}
	w := f.Get("/api/v1/servers.gslist?game=gmtest")
	lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
	if len(lines) != 900 || lines[0] != "192.0.0.1:6500" || lines[899] != "192.0.3.150:6500" || w.Header().Get("Content-Type") != textType {
		t.Errorf("%d lines, from %q to %q, of type %s", len(lines), lines[0], lines[len(lines)-1], w.Header().Get("Content-Type"))
	}
	if got := f.Get("/api/v1/servers.gslist?game=other"); got.Body.Len() != 0 || got.Code != http.StatusOK {
		t.Errorf("another game: %d %q", got.Code, got.Body)
	}
	w = f.Get("/api/v1/servers.jsonl")
	lines = strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
	if len(lines) != 900 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		var s webtest.ServerJSON
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Players != 900-i {
			t.Fatalf("line %d: %v: %s", i, err, line)
		}
	}
	for _, path := range []string{"/api/v1/servers.gslist", "/api/v1/servers.jsonl"} {
		tag := f.Get(path).Header().Get("ETag")
		if got := f.Get(path, "If-None-Match", tag); got.Code != http.StatusNotModified || tag == "" {
			t.Errorf("%s: status %d with the tag %s", path, got.Code, tag)
		}
	}
	if a, b := f.Get("/api/v1/servers.gslist").Header().Get("ETag"), f.Get("/api/v1/servers.jsonl").Header().Get("ETag"); a == b {
		t.Errorf("both exports have the tag %s", a)
	}
}
