package web

import (
	"encoding/xml"
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/webtest"
)

func TestBadge(t *testing.T) {
	f := newFixture(t)
	for i, of := range []struct {
		found    master.Findings
		natneg   bool
		restored bool
		want     string
	}{
		{master.Findings{Reached: master.ReachedDirect}, false, false, "direct"},
		{master.Findings{Reached: master.ReachedPerhaps}, false, false, "probably direct"},
		{master.Findings{}, true, false, "with help"},
		{master.Findings{Relayed: true}, true, false, "relayed"},
		{master.Findings{Reached: master.ReachedNo}, false, false, "not reached"},
		{master.Findings{}, false, false, "not confirmed"},
		{master.Findings{Reached: master.ReachedDirect}, false, true, "not confirmed"},
	} {
		addr := "192.0.2." + string(rune('1'+i)) + ":6500"
		f.Put(webtest.Listed{Addr: addr, Rules: []string{"hostname", "<script>"}, Change: func(s *master.Server) {
			s.NATNeg, s.Restored, s.Findings = of.natneg, of.restored, of.found
		}})
		f.wantBadge("/servers/qr2-"+strings.Replace(addr, ":", "-", 1)+"/badge.svg", of.want)
	}
	f.wantBadge("/servers/qr2-192.0.2.99-6500/badge.svg", "not listed")
	f.wantBadge("/servers/zandronum-192.0.2.1-6500/badge.svg", "not listed")
	for _, id := range []string{"x", "qr2-192.0.2.1", "<b>"} {
		if w := f.Get("/servers/" + id + "/badge.svg"); w.Code != http.StatusNotFound {
			t.Errorf("a badge of %q: %d, want 404", id, w.Code)
		}
	}
}

// wantBadge compares the word of a badge, and looks at its form.
func (f *fixture) wantBadge(target, want string) {
	f.T.Helper()
	w := f.Get(target)
	body := w.Body.String()
	tag := w.Header().Get("ETag")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/svg+xml" || w.Header().Get("Cache-Control") != "public, max-age=60" || tag == "" {
		f.T.Errorf("GET %s: %d, headers %v", target, w.Code, w.Header())
	}
	if !strings.Contains(body, "<title>players join: "+want+"</title>") || len(body) > 1000 || strings.Contains(body, "script") || strings.Contains(body, "style") {
		f.T.Errorf("GET %s: %d bytes, want %q in\n%s", target, len(body), want, body)
	}
	if err := xml.Unmarshal([]byte(body), new(struct{})); err != nil {
		f.T.Errorf("GET %s: %v", target, err)
	}
	if again := f.Get(target, "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		f.T.Errorf("GET %s again: %d with %d bytes, want 304", target, again.Code, again.Body.Len())
	}
}
