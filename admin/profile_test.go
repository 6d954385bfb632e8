package admin

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const profiles = "/api/v1/debug/pprof/"

// profiling returns a server whose profiles are on or off.
func profiling(t *testing.T, on bool) *Server {
	t.Helper()
	o := options(newLocal(t), nil)
	o.Config.Pprof = on
	return New(o)
}

// TestProfiles has every profile answered only with the token and only if they are on.
func TestProfiles(t *testing.T) {
	for _, on := range []bool{false, true} {
		h := profiling(t, on).Handler()
		for _, name := range []string{"", "heap", "heap?gc=1", "goroutine?debug=2", "allocs", "profile?seconds=1", "trace?seconds=1", "none", "cmdline", "symbol"} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if w := request(t, h, method, profiles+name, "", ""); w.Code != http.StatusUnauthorized {
					t.Errorf("pprof %v, %s %s without the token: %d, want 401", on, method, name, w.Code)
				}
			}
			if on && strings.HasSuffix(name, "seconds=1") { // it would take as long
				continue
			}
			want := http.StatusNotFound
			if on && name != "none" && name != "cmdline" && name != "symbol" {
				want = http.StatusOK
			}
			w := request(t, h, http.MethodGet, profiles+name, "Bearer "+testToken, "")
			if w.Code != want {
				t.Errorf("pprof %v, GET %s: %d %.80s, want %d", on, name, w.Code, w.Body, want)
			}
			if cached := w.Header().Get("Cache-Control"); cached != "no-store" {
				t.Errorf("pprof %v, GET %s: Cache-Control %q, want no-store", on, name, cached)
			}
		}
	}
}

// TestProfile_content reads a heap profile.
func TestProfile_content(t *testing.T) {
	w := request(t, profiling(t, true).Handler(), http.MethodGet, profiles+"heap", "Bearer "+testToken, "")
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatalf("the profile is not compressed: %v", err)
	}
	text, err := io.ReadAll(z)
	if err != nil || !bytes.Contains(text, []byte("inuse_space")) {
		t.Errorf("a profile of %d bytes (%v), want one of the heap", len(text), err)
	}
}

func TestProfile_bounds(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 30 * time.Second, "0": -1, "1": time.Second, "300": 300 * time.Second, "301": -1, "-1": -1, "1.5": -1, "x": -1} {
		got, err := profileLength(url.Values{"seconds": {text}})
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("seconds=%q: %v, %v, want %v", text, got, err, want)
		}
	}
	s := profiling(t, true)
	h := s.Handler()
	if w := request(t, h, http.MethodGet, profiles+"profile?seconds=301", "Bearer "+testToken, ""); w.Code != http.StatusBadRequest {
		t.Errorf("a profile of 301 seconds: %d, want 400", w.Code)
	}
	for range maxProfiles {
		s.profiles <- struct{}{}
	}
	if w := request(t, h, http.MethodGet, profiles+"heap", "Bearer "+testToken, ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a profile beside %d others: %d, want 503", maxProfiles, w.Code)
	}
	<-s.profiles
	if w := request(t, h, http.MethodGet, profiles+"heap", "Bearer "+testToken, ""); w.Code != http.StatusOK {
		t.Errorf("a profile beside %d others: %d, want 200", maxProfiles-1, w.Code)
	}
}
