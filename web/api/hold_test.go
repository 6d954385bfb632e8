package api

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/web/webtest"
)

// Equal requests share an answer of a long list for a while, whose tag gives 304.
// Changes show afterwards, in the list of their game only.
func TestLongListIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		put := func(i int, game, name string) {
			f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.%d.%d:6500", i>>8, i&255), Game: game, Rules: []string{"hostname", name}})
		}
		for i := range holdFrom {
			put(i, []string{"gmtest", "gmother"}[i%2], "before")
		}
		tags := make(map[string]string)
		ask := func(when string, want int, paths ...string) {
			t.Helper()
			for _, path := range paths {
				w := f.Get(path, "If-None-Match", tags[path])
				if w.Code != want {
					t.Errorf("%s, %s: status %d, want %d", when, path, w.Code, want)
				}
				tags[path] = w.Header().Get("ETag")
			}
		}
		const all, own, other = "/api/v1/servers?q=now", "/api/v1/servers?game=gmtest&q=now", "/api/v1/servers?game=gmother&q=now"
		ask("first", http.StatusOK, all, own, other)
		put(0, "gmtest", "now")
		ask("held", http.StatusNotModified, all, own, other)
		time.Sleep(HoldFor - 1)
		put(2, "gmtest", "now")
		ask("still held", http.StatusNotModified, all, own, other)
		if got := f.List(all).Total; got != 0 {
			t.Errorf("%d servers are shown while the list is held, want 0", got)
		}
		time.Sleep(time.Nanosecond)
		ask("over", http.StatusOK, all, own)
		ask("over", http.StatusNotModified, other)
		if got := f.List(own).Total; got != 2 {
			t.Errorf("%d servers are shown afterwards, want 2", got)
		}
		// A game that is listed for the first time.
		const fresh = "/api/v1/servers?game=gmquiet"
		ask("a new game", http.StatusOK, fresh)
		put(1, "gmquiet", "now")
		if got := f.List(fresh).Total; got != 0 {
			t.Errorf("%d servers of a new game while the list is held, want 0", got)
		}
		time.Sleep(HoldFor)
		ask("over", http.StatusOK, fresh, other, all)
	})
}

// Changes of a list that is read quickly show at once.
func TestShortListIsNotHeld(t *testing.T) {
	f := newFixture(t)
	for i := range holdFrom - 1 {
		if f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.%d.%d:6500", i>>8, i&255), Rules: []string{"hostname", "x"}}); i < holdFrom-3 {
			continue
		}
		if got := f.List("/api/v1/servers?limit=1").Total; got != i+1 {
			t.Fatalf("%d servers are shown, want %d", got, i+1)
		}
	}
}
