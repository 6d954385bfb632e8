package front

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCache(t *testing.T) {
	f, c := newFixture(t), new(Cache)
	t.Run("number of answers", func(t *testing.T) {
		for i := range 2 * maxAnswers {
			f.front.Answer(c, i, func() []byte { return []byte("x") })
		}
		if got := len(c.kept); got != maxAnswers {
			t.Errorf("%d questions: %d answers kept, want %d", 2*maxAnswers, got, maxAnswers)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		c := new(Cache)
		big := make([]byte, maxAnswersSize/2)
		for i := range 3 {
			f.front.Answer(c, i, func() []byte { return big })
		}
		if got := len(c.kept); got != 2 || c.bytes > maxAnswersSize {
			t.Errorf("three answers of half the room: %d kept with %d bytes, want 2", got, c.bytes)
		}
	})
	t.Run("panic", func(t *testing.T) {
		c := new(Cache)
		func() {
			defer func() { _ = recover() }()
			f.front.Answer(c, "q", func() []byte { panic("boom") })
		}()
		if got := string(f.front.Answer(c, "q", func() []byte { return []byte("ok") }).body); got != "ok" {
			t.Errorf("answer after a panic: got %q, want ok", got)
		}
		if len(f.front.building) != 0 {
			t.Errorf("%d turns to build are lost", len(f.front.building))
		}
	})
}

func TestOutboxFull(t *testing.T) {
	f := newFixture(t)
	whole := NewAnswer(make([]byte, MaxSending))
	for range 2 {
		if !f.front.outbox.add(whole) {
			t.Fatal("an answer of exactly the allowed size is refused")
		}
	}
	w := f.Get("/api/v1/servers")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || w.Header().Get("ETag") != "" {
		t.Errorf("outbox full: got %d %v, want 503 with Retry-After and no tag", w.Code, w.Header())
	}
	f.front.outbox.done(whole)
	if w := f.Get("/"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one of two senders done: got %d, want 503", w.Code)
	}
	f.front.outbox.done(whole)
	if w := f.Get("/api/v1/servers"); w.Code != http.StatusOK {
		t.Errorf("both done: got %d, want 200", w.Code)
	}
	if f.front.outbox.bytes != 0 {
		t.Errorf("nothing on its way, but %d bytes counted", f.front.outbox.bytes)
	}
}

func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		mux := http.NewServeMux()
		mux.HandleFunc("/early", func(http.ResponseWriter, *http.Request) { panic("boom") })
		mux.HandleFunc("/api/early", func(http.ResponseWriter, *http.Request) { panic("boom") })
		mux.HandleFunc("/late", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			panic("boom")
		})
		h := f.front.wrap(mux)
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
		if got := f.Count("respawnd_web_panics_total"); got != 4 {
			t.Errorf("panics counted: got %v, want 4", got)
		}
		if got := strings.Count(f.log.String(), "handler panicked"); got != 1 {
			t.Errorf("panics within a minute: got %d log lines, want 1", got)
		}
		time.Sleep(panicAgain)
		serve("/early")
		if got := strings.Count(f.log.String(), "handler panicked"); got != 2 {
			t.Errorf("a minute later: got %d log lines, want 2", got)
		}
	})
}

func TestPanicLog(t *testing.T) {
	var f Front
	now := time.Now()
	for _, step := range []struct {
		at   time.Duration
		want bool
	}{{0, true}, {1, false}, {panicAgain, true}, {-24 * time.Hour, true}, {-24*time.Hour + 1, false}, {time.Hour + 2*panicAgain, true}} {
		if got := f.isNewsAt(now.Add(step.at)); got != step.want {
			t.Errorf("a panic at %v: news %v, want %v", step.at, got, step.want)
		}
	}
}

func TestTagMatches(t *testing.T) {
	const tag = `W/"12-ab"`
	tests := map[string]struct {
		have []string
		want bool
	}{
		"none":           {nil, false},
		"the same":       {[]string{tag}, true},
		"strong":         {[]string{`"12-ab"`}, true},
		"in a list":      {[]string{`"x", W/"12-ab" ,"y"`}, true},
		"on second line": {[]string{`"x"`, tag}, true},
		"any":            {[]string{"*"}, true},
		"another":        {[]string{`W/"12-ac"`}, false},
		"bare":           {[]string{"12-ab"}, false},
		"empty":          {[]string{""}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tagMatches(tc.have, tag); got != tc.want {
				t.Errorf("tagMatches(%q): got %v, want %v", tc.have, got, tc.want)
			}
		})
	}
}

func TestOutboxFullWithGzip(t *testing.T) {
	f := newFixture(t)
	f.large(100)
	whole := NewAnswer(make([]byte, MaxSending))
	f.front.outbox.add(whole)
	w := f.Ask("198.51.100.1:1", "/api/v1/servers", "Accept-Encoding", "gzip")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Encoding") != "" || !strings.Contains(w.Body.String(), "too much") {
		t.Errorf("got %d %v %q, want a readable 503", w.Code, w.Header(), w.Body)
	}
}

func BenchmarkZip(b *testing.B) {
	f := newFixture(b)
	var body bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&body, `{"name":"Server number %d","address":"10.%d.%d.%d:6500","map":"DM-Deck16","players":%d,"max_players":16,"password":false},`,
			i, i>>16, i>>8&255, i&255, i%17)
	}
	b.ReportAllocs()
	b.SetBytes(int64(body.Len()))
	for b.Loop() {
		b.ReportMetric(float64(len(f.front.zipper.zip(body.Bytes())))/float64(body.Len()), "ratio")
	}
}
