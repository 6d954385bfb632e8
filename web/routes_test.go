package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/master/views"
)

func TestHeadersOfEveryAnswer(t *testing.T) {
	f := newFixture(t)
	f.put(listed{})
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
	for target, tc := range tests {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := f.do(method, target)
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
			json := h.Get("Content-Type") == jsonType
			if json != strings.HasPrefix(target, "/api/") {
				t.Errorf("%s %s: content type %q", method, target, h.Get("Content-Type"))
			}
			if target != "/assets/style.css" && h.Get("Cache-Control") != "no-cache" {
				t.Errorf("%s %s: Cache-Control %q, want no-cache", method, target, h.Get("Cache-Control"))
			}
		}
	}
}

func TestDocs(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		f := newFixture(t)
		for _, target := range []string{"/docs", "/docs/players"} {
			if w := f.get(target); w.Code != http.StatusNotFound {
				t.Errorf("GET %s: got %d, want 404", target, w.Code)
			}
		}
	})
	t.Run("handler", func(t *testing.T) {
		f := newFixture(t, func(o *Options) {
			o.Docs = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) })
		})
		for _, target := range []string{"/docs", "/docs/", "/docs/operators/install"} {
			w := f.get(target)
			if w.Code != http.StatusOK || w.Body.String() != target || w.Header().Get("Content-Security-Policy") != contentPolicy {
				t.Errorf("GET %s: got %d %q with headers %v", target, w.Code, w.Body, w.Header())
			}
			if w := f.do(http.MethodPost, target); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("POST %s: got %d, want 405", target, w.Code)
			}
		}
	})
}

func TestOtherMethodsAreRefused(t *testing.T) {
	f := newFixture(t)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "BREW"} {
		for _, target := range []string{"/", "/api/v1/servers", "/nothing", "/api/nothing"} {
			w := f.do(method, target)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: got %d, Allow %q; want 405, GET and HEAD", method, target, w.Code, w.Header().Get("Allow"))
			}
		}
	}
	if got := f.count("respawnd_web_requests_total", "path", otherPath, "code", "4xx"); got != 36 {
		t.Errorf("refused methods counted: got %v, want 36", got)
	}
}

func TestHeadSaysTheLengthAndNoMore(t *testing.T) {
	f := newFixture(t)
	f.fill(3)
	for _, target := range []string{"/", "/api/v1/servers", "/api/v1/games", "/assets/style.css"} {
		get, head := f.get(target), f.do(http.MethodHead, target)
		if head.Body.Len() != 0 {
			t.Errorf("HEAD %s: got %d bytes", target, head.Body.Len())
		}
		if got, want := head.Header().Get("Content-Length"), fmt.Sprint(get.Body.Len()); got != want {
			t.Errorf("HEAD %s: Content-Length %q, want %q", target, got, want)
		}
	}
}

func TestRequestsAreCounted(t *testing.T) {
	f := newFixture(t)
	f.get("/")
	f.get("/api/v1/servers")
	f.do(http.MethodHead, "/api/v1/servers")
	f.get("/api/v1/servers", "If-None-Match", "*")
	f.get("/api/v1/servers?x=1")
	f.get("/api/v1/servers/a")
	f.get("/api/v1/servers/b")
	f.get("/whatever/a")
	f.get("//double//slash")
	for labels, want := range map[[2]string]float64{
		{"/", "2xx"}:                    1,
		{"/api/v1/servers", "2xx"}:      2,
		{"/api/v1/servers", "3xx"}:      1,
		{"/api/v1/servers", "4xx"}:      1,
		{"/api/v1/servers/{id}", "4xx"}: 2,
		{otherPath, "3xx"}:              1,
		{otherPath, "4xx"}:              1,
		{otherPath, "2xx"}:              0,
	} {
		if got := f.count("respawnd_web_requests_total", "path", labels[0], "code", labels[1]); got != want {
			t.Errorf("requests of %s answered with %s: got %v, want %v", labels[0], labels[1], got, want)
		}
	}
	if got := f.count("respawnd_dropped_total", "service", "web", "reason", dropParam); got != 1 {
		t.Errorf("wrong parameters counted: got %v, want 1", got)
	}
}

func TestIdenticalRequestsShareAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.fill(10)
		built := func() float64 { return f.count("respawnd_web_answers_built_total") }
		for range 5 {
			f.get("/api/v1/servers")
			f.get("/api/v1/servers?full=1")
			f.get("/servers")
		}
		if got := built(); got != 3 {
			t.Errorf("15 requests for 3 things: %v answers were written, want 3", got)
		}
		time.Sleep(views.MaxAge - time.Nanosecond)
		if f.get("/servers"); built() != 3 {
			t.Errorf("just before a second: %v answers, want 3", built())
		}
		time.Sleep(time.Nanosecond)
		if f.get("/servers"); built() != 4 {
			t.Errorf("after a second: %v answers, want 4", built())
		}
		f.put(listed{})
		if f.get("/servers"); built() != 5 {
			t.Errorf("after a change: %v answers, want 5", built())
		}
	})
}

func TestKeptAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.fill(3)
		for i := range 2 * maxAnswers {
			f.get(fmt.Sprintf("/api/v1/servers?limit=%d", i+1))
		}
		if got := len(f.server.lister.latest.Last().answers.kept); got != maxAnswers {
			t.Errorf("%d questions: %d answers kept, want %d", 2*maxAnswers, got, maxAnswers)
		}
		list := f.server.lister.now()
		list.answers.kept, list.answers.bytes = nil, 0
		big := make([]byte, maxAnswersSize/2)
		for i := range 3 {
			f.server.answer(list, i, func() []byte { return big })
		}
		if got := len(list.answers.kept); got != 2 || list.answers.bytes > maxAnswersSize {
			t.Errorf("three answers of half the room: %d kept with %d bytes, want 2", got, list.answers.bytes)
		}
	})
}

func TestTooMuchOnItsWay(t *testing.T) {
	f := newFixture(t)
	whole := &answer{body: make([]byte, maxSending)}
	for range 2 {
		if !f.server.outbox.add(whole) {
			t.Fatal("an answer of exactly the allowed size is refused")
		}
	}
	w := f.get("/api/v1/servers")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || w.Header().Get("ETag") != "" {
		t.Errorf("outbox full: got %d %v, want 503 with Retry-After and no tag", w.Code, w.Header())
	}
	f.server.outbox.done(whole)
	if w := f.get("/"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one of two senders done: got %d, want 503", w.Code)
	}
	f.server.outbox.done(whole)
	if w := f.get("/api/v1/servers"); w.Code != http.StatusOK {
		t.Errorf("both done: got %d, want 200", w.Code)
	}
	if f.server.outbox.bytes != 0 {
		t.Errorf("nothing on its way, but %d bytes counted", f.server.outbox.bytes)
	}
}

func TestPanicCostsOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := newFixture(t, func(o *Options) { o.Log = zerolog.New(&log) })
		mux := http.NewServeMux()
		mux.HandleFunc("/early", func(http.ResponseWriter, *http.Request) { panic("boom") })
		mux.HandleFunc("/api/early", func(http.ResponseWriter, *http.Request) { panic("boom") })
		mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			panic("boom")
		})
		h := f.server.wrap(mux)
		serve := func(target string) (code int, aborted bool) {
			defer func() {
				if v := recover(); v != nil {
					aborted = true
				}
			}()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
			return w.Code, false
		}
		for _, target := range []string{"/early", "/early", "/api/early"} {
			if code, aborted := serve(target); code != http.StatusInternalServerError || aborted {
				t.Errorf("panic before the answer: got %d, aborted %v; want 500", code, aborted)
			}
		}
		if _, aborted := serve("/late"); !aborted {
			t.Error("panic within the answer: the connection lives on")
		}
		if got := f.count("respawnd_web_panics_total"); got != 4 {
			t.Errorf("panics counted: got %v, want 4", got)
		}
		if got := strings.Count(log.String(), "handler panicked"); got != 1 {
			t.Errorf("panics within a minute: got %d log lines, want 1", got)
		}
		time.Sleep(panicAgain)
		serve("/early")
		if got := strings.Count(log.String(), "handler panicked"); got != 2 {
			t.Errorf("a minute later: got %d log lines, want 2", got)
		}
	})
}

func TestBrokenPromiseIsForgotten(t *testing.T) {
	f := newFixture(t)
	list := f.server.lister.now()
	func() {
		defer func() { _ = recover() }()
		f.server.answer(list, "q", func() []byte { panic("boom") })
	}()
	if got := string(f.server.answer(list, "q", func() []byte { return []byte("ok") }).body); got != "ok" {
		t.Errorf("answer after a panic: got %q, want ok", got)
	}
	if len(f.server.building) != 0 {
		t.Errorf("%d places to build are lost", len(f.server.building))
	}
}

func TestManyRequestsWhileTheListChanges(t *testing.T) {
	f := newFixture(t)
	f.fill(50)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 30 {
				w := httptest.NewRecorder()
				target := []string{"/", "/api/v1/servers?full=1", "/api/v1/games", "/api/v1/servers?q=server&limit=7", "/api/v1/servers/qr2-10.0.0.3-6500"}[(i+n)%5]
				f.server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
				if w.Code != http.StatusOK {
					t.Errorf("GET %s: got %d, want 200", target, w.Code)
				}
			}
		})
	}
	for i := range 100 {
		f.put(listed{addr: fmt.Sprintf("198.51.100.%d:1", i%20), rules: []string{"hostname", fmt.Sprint("v", i)}})
		if got := f.list("/api/v1/servers?q=" + fmt.Sprint("v", i)).Total; got != 1 {
			t.Errorf("after change %d the list shows it %d times, want once", i, got)
		}
	}
	all.Wait()
}

func TestPanicIsLoggedAgainThoughTheClockWasPutBack(t *testing.T) {
	var s Server
	now := time.Now()
	for _, step := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {1, false}, {panicAgain, true}, {-24 * time.Hour, true}, {-24*time.Hour + 1, false}, {time.Hour + 2*panicAgain, true}} {
		if got := s.isNewsAt(now.Add(step.at)); got != step.want {
			t.Errorf("a panic at %v: news %v, want %v", step.at, got, step.want)
		}
	}
}
