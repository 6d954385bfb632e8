package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/master/views"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/webtest"
)

// contentPolicy lists the sources that pages may load from.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func TestHeaders(t *testing.T) {
	f := newFixture(t)
	f.Put(webtest.Listed{})
	tests := map[string]struct {
		code int
		open bool // to pages of other origins
	}{
		"/":                                     {200, false},
		"/servers":                              {200, false},
		"/servers/qr2-192.0.2.1-6500":           {200, false},
		"/servers/qr2-192.0.2.9-6500":           {404, false},
		"/servers/nonsense":                     {404, false},
		"/games":                                {200, false},
		"/games/gmtest":                         {200, false},
		"/games/nothing":                        {404, false},
		"/games/gmtest/hosts.txt?ip=192.0.2.7":  {200, false},
		"/games/gmtest/hosts.txt?ip=nowhere":    {400, false},
		"/games/nothing/hosts.txt?ip=192.0.2.7": {404, false},
		"/account":                              {404, false}, // switched off in this test
		"/account/login":                        {404, false},
		"/assets/style.css":                     {200, false},
		"/assets/":                              {404, false},
		"/nothing":                              {404, false},
		"/api/v1/servers":                       {200, true},
		"/api/v1/servers/":                      {404, true},
		"/api/v1/servers/qr2-192.0.2.1-6500":    {200, true},
		"/api/v1/games":                         {200, true},
		"/api/v1/nothing":                       {404, true},
		"/api/":                                 {404, true},
		"/api":                                  {404, false},
		"/api/v1/servers?bad=1":                 {400, true},
		"/.git/config":                          {404, false},
		"/templates/list.html":                  {404, false},
		"/assets/style.css/..%2f..%2fserver.go": {404, false},
	}
	webtest.WantParts(t, "a path that is not there", f.Get("/api/v1/").Body.String(), "/api/v1/openapi.json")
	for target, tc := range tests {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := f.Do(method, target)
			if w.Code != tc.code {
				t.Errorf("%s %s: got %d, want %d", method, target, w.Code, tc.code)
			}
			h := w.Header()
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Content-Security-Policy": contentPolicy, "Set-Cookie": "",
			} {
				if got := h.Get(name); got != want {
					t.Errorf("%s %s: %s is %q, want %q", method, target, name, got, want)
				}
			}
			if got := h.Get("Access-Control-Allow-Origin"); (got == "*") != tc.open {
				t.Errorf("%s %s: Access-Control-Allow-Origin is %q", method, target, got)
			}
			json := h.Get("Content-Type") == front.JSON
			if json != strings.HasPrefix(target, "/api/") {
				t.Errorf("%s %s: content type %q", method, target, h.Get("Content-Type"))
			}
			if target != "/assets/style.css" && h.Get("Cache-Control") != "no-cache" {
				t.Errorf("%s %s: Cache-Control %q, want no-cache", method, target, h.Get("Cache-Control"))
			}
		}
	}
}

func TestMethods(t *testing.T) {
	f := newFixture(t)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "BREW"} {
		for _, target := range []string{"/", "/api/v1/servers", "/nothing", "/api/nothing"} {
			w := f.Do(method, target)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: got %d, Allow %q; want 405, GET and HEAD", method, target, w.Code, w.Header().Get("Allow"))
			}
		}
	}
	if got := f.Count("respawnd_web_requests_total", "path", "other", "code", "4xx"); got != 36 {
		t.Errorf("refused methods counted: got %v, want 36", got)
	}
}

func TestHead(t *testing.T) {
	f := newFixture(t)
	f.Fill(3)
	for _, target := range []string{"/", "/api/v1/servers", "/api/v1/games", "/assets/style.css"} {
		get, head := f.Get(target), f.Do(http.MethodHead, target)
		if head.Body.Len() != 0 {
			t.Errorf("HEAD %s: got %d bytes", target, head.Body.Len())
		}
		if got, want := head.Header().Get("Content-Length"), fmt.Sprint(get.Body.Len()); got != want {
			t.Errorf("HEAD %s: Content-Length %q, want %q", target, got, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	f.Get("/")
	f.Get("/api/v1/servers")
	f.Do(http.MethodHead, "/api/v1/servers")
	f.Get("/api/v1/servers", "If-None-Match", "*")
	f.Get("/api/v1/servers?x=1")
	f.Get("/api/v1/servers/a")
	f.Get("/api/v1/servers/b")
	f.Get("/whatever/a")
	f.Get("//double//slash")
	for labels, want := range map[[2]string]float64{
		{"/", "2xx"}:                    1,
		{"/api/v1/servers", "2xx"}:      2,
		{"/api/v1/servers", "3xx"}:      1,
		{"/api/v1/servers", "4xx"}:      1,
		{"/api/v1/servers/{id}", "4xx"}: 2,
		{"other", "3xx"}:                1,
		{"other", "4xx"}:                1,
		{"other", "2xx"}:                0,
	} {
		if got := f.Count("respawnd_web_requests_total", "path", labels[0], "code", labels[1]); got != want {
			t.Errorf("requests of %s answered with %s: got %v, want %v", labels[0], labels[1], got, want)
		}
	}
	if got := f.Count("respawnd_dropped_total", "service", "web", "reason", front.DropParam); got != 1 {
		t.Errorf("wrong parameters counted: got %v, want 1", got)
	}
}

func TestSharedAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.Fill(10)
		built := func() float64 { return f.Count("respawnd_web_answers_built_total") }
		for range 5 {
			f.Get("/api/v1/servers")
			f.Get("/api/v1/servers?full=1")
			f.Get("/servers")
		}
		if got := built(); got != 3 {
			t.Errorf("15 requests for 3 things: %v answers were written, want 3", got)
		}
		time.Sleep(views.MaxAge - time.Nanosecond)
		if f.Get("/servers"); built() != 3 {
			t.Errorf("just before a second: %v answers, want 3", built())
		}
		time.Sleep(time.Nanosecond)
		if f.Get("/servers"); built() != 4 {
			t.Errorf("after a second: %v answers, want 4", built())
		}
		f.Put(webtest.Listed{})
		if f.Get("/servers"); built() != 5 {
			t.Errorf("after a change: %v answers, want 5", built())
		}
	})
}

func TestConcurrentRequests(t *testing.T) {
	f := newFixture(t)
	f.Fill(50)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 30 {
				w := httptest.NewRecorder()
				target := []string{"/", "/api/v1/servers?full=1", "/api/v1/games", "/api/v1/servers?q=server&limit=7", "/api/v1/servers/qr2-10.0.0.3-6500"}[(i+n)%5]
				f.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
				if w.Code != http.StatusOK {
					t.Errorf("GET %s: got %d, want 200", target, w.Code)
				}
			}
		})
	}
	for i := range 100 {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("198.51.100.%d:1", i%20), Rules: []string{"hostname", fmt.Sprint("v", i)}})
		if got := f.List("/api/v1/servers?q=" + fmt.Sprint("v", i)).Total; got != 1 {
			t.Errorf("after change %d the list shows it %d times, want once", i, got)
		}
	}
	all.Wait()
}
