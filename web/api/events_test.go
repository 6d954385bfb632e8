package api

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/front"
	"github.com/respawnd/respawnd/web/webtest"
)

// event is one event as a client reads it.
type event struct{ id, kind, data string }

// listener reads the events of a connection. The body must not be chunked.
type listener struct {
	t      *testing.T
	in     *bufio.Reader
	zipped bool
	lastID string
	beats  int
}

// listen sends a request for events and checks that a stream begins.
func listen(t *testing.T, c net.Conn, query string, header ...string) *listener {
	t.Helper()
	request := "GET /api/v1/events" + query + " HTTP/1.0\r\nHost: x\r\n" // 1.0: no chunks
	for i := 0; i < len(header); i += 2 {
		request += header[i] + ": " + header[i+1] + "\r\n"
	}
	if _, err := io.WriteString(c, request+"\r\n"); err != nil {
		t.Fatalf("Write: %v", err)
	}
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("ReadResponse: %v", err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != eventsType {
		t.Fatalf("GET /api/v1/events%s: got %d %s, want 200 %s", query, resp.StatusCode, resp.Header.Get("Content-Type"), eventsType)
	}
	if resp.Header.Get("Content-Encoding") == "" {
		return &listener{t: t, in: bufio.NewReader(resp.Body)}
	}
	unzip, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatalf("GET /api/v1/events%s: %v", query, err)
	}
	return &listener{t: t, in: bufio.NewReader(unzip), zipped: true}
}

// next returns the next event that has data.
func (l *listener) next() event {
	l.t.Helper()
	var e event
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			l.t.Fatalf("reading events: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && e.data != "":
			l.lastID = e.id
			return e
		case line == "":
			l.lastID = e.id // an id of its own moves the place on
		case line == ":":
			l.beats++
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			e.data = value
		case name != "retry":
			l.t.Fatalf("line %q in the stream", line)
		}
	}
}

// expect reads events and compares their kinds and addresses.
func (l *listener) expect(want ...string) {
	l.t.Helper()
	for _, w := range want {
		e := l.next()
		var data struct{ Address, Reason string }
		if err := json.Unmarshal([]byte(e.data), &data); err != nil {
			l.t.Fatalf("data of %+v: %v", e, err)
		}
		if got := e.kind + " " + data.Address + data.Reason; got != w {
			l.t.Errorf("event: got %q, want %q", got, w)
		}
	}
}

func TestEvents(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		f.Put(webtest.Listed{Addr: "192.0.2.9:1"}) // before the stream: not reported
		l := listen(t, ln.Dial(t), "")
		key := f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"hostname", "One"}})
		e := l.next()
		got := webtest.Decode[webtest.ServerJSON](t, strings.NewReader(e.data))
		if e.kind != "added" || got.ID != "qr2-192.0.2.1-1" || got.Name != "One" || got.Rules["hostname"] != "One" || got.PlayerList != nil {
			t.Errorf("event: got %+v, want that the server was added, as the list shows it", e)
		}
		f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"hostname", "Two"}})
		if e = l.next(); e.kind != "changed" || webtest.Decode[webtest.ServerJSON](t, strings.NewReader(e.data)).Name != "Two" {
			t.Errorf("event: got %+v, want the change of the name", e)
		}
		f.Registry.Remove(key)
		if e = l.next(); e.kind != "removed" || e.data != `{"id":"qr2-192.0.2.1-1","game":"gmtest","address":"192.0.2.1:1"}` {
			t.Errorf("event: got %+v, want the removal", e)
		}
	})
}

func TestEventsMerged(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		stays := f.Put(webtest.Listed{Addr: "192.0.2.1:1"})
		goes := f.Put(webtest.Listed{Addr: "192.0.2.2:1"})
		l := listen(t, ln.Dial(t), "")
		f.Put(webtest.Listed{Addr: "192.0.2.3:1"}) // added, then changed
		f.Put(webtest.Listed{Addr: "192.0.2.3:1", Rules: []string{"a", "b"}})
		f.Registry.Remove(f.Put(webtest.Listed{Addr: "192.0.2.4:1"})) // was never shown
		f.Registry.Remove(stays)                                      // came back at once
		f.Put(webtest.Listed{Addr: "192.0.2.1:1"})
		f.Put(webtest.Listed{Addr: "192.0.2.2:1", Rules: []string{"a", "b"}})
		f.Registry.Remove(goes)
		f.Put(webtest.Listed{Addr: "192.0.2.5:1", Game: "gmtest"}) // became another game's
		f.Put(webtest.Listed{Addr: "192.0.2.5:1", Game: "gmother"})
		l.expect("added 192.0.2.3:1", "changed 192.0.2.1:1", "removed 192.0.2.2:1", "added 192.0.2.5:1")
	})
}

func TestEventsByGame(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		all, mine := listen(t, ln.Dial(t), ""), listen(t, ln.Dial(t), "?game=GMOther")
		f.Put(webtest.Listed{Addr: "192.0.2.1:1", Game: "gmtest"})
		f.Put(webtest.Listed{Addr: "192.0.2.2:1", Game: "gmother"})
		f.Put(webtest.Listed{Addr: "192.0.2.3:1", Game: "gmtest"})
		f.Put(webtest.Listed{Addr: "192.0.2.4:1", Game: "gmother"})
		all.expect("added 192.0.2.1:1", "added 192.0.2.2:1", "added 192.0.2.3:1", "added 192.0.2.4:1")
		mine.expect("added 192.0.2.2:1", "added 192.0.2.4:1")
	})
}

func TestStreamLastEventID(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		c := ln.Dial(t)
		l := listen(t, c, "")
		f.Put(webtest.Listed{Addr: "192.0.2.1:1"})
		l.expect("added 192.0.2.1:1")
		_ = c.Close()
		synctest.Wait()
		f.Put(webtest.Listed{Addr: "192.0.2.2:1"})
		f.Put(webtest.Listed{Addr: "192.0.2.1:1", Rules: []string{"a", "b"}})
		again := listen(t, ln.Dial(t), "", "Last-Event-ID", l.lastID)
		again.expect("added 192.0.2.2:1", "changed 192.0.2.1:1")
		f.Put(webtest.Listed{Addr: "192.0.2.3:1"})
		again.expect("added 192.0.2.3:1") // the one that all share

		third := listen(t, ln.Dial(t), "", "Last-Event-ID", l.lastID) // while others listen
		third.expect("added 192.0.2.2:1", "changed 192.0.2.1:1", "added 192.0.2.3:1")
	})
}

func TestStreamReset(t *testing.T) {
	const held = 16
	synctest.Test(t, func(t *testing.T) {
		f, ln := newFixture(t, func(o *Options) {
			o.Registry = master.NewRegistry(master.Limits{Changes: held, PerAddr: 1 << 20, PerNet: 1 << 20})
		}), webtest.NewPipes()
		f.Registry = f.api.opt.Registry
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.Serve(ctx, ln) }()
		old := f.api.feed.id(0)
		f.Fill(held + 1)
		gap := listen(t, ln.Dial(t), "", "Last-Event-ID", old)
		gap.expect("reset gap")
		f.Put(webtest.Listed{Addr: "192.0.2.1:1"})
		gap.expect("added 192.0.2.1:1")
		for name, id := range map[string]string{
			"another run": "deadbeef-3", "no id": "x", "hostile": "\"><script>", "the future": f.api.feed.id(1 << 40), "negative": f.api.feed.epoch + "--1",
		} {
			l := listen(t, ln.Dial(t), "", "Last-Event-ID", id)
			l.expect("reset restart")
			if l.lastID != f.api.feed.id(f.api.feed.newest()) {
				t.Errorf("%s: after a reset the place is %q, want the newest", name, l.lastID)
			}
		}
		f.Fill(3 * held) // more than the log holds, within one pause
		gap.expect("reset gap")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestStreamKeepAlive(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		l := listen(t, ln.Dial(t), "")
		began := time.Now()
		time.AfterFunc(3*streamBeat+time.Second, func() { f.Put(webtest.Listed{}) })
		l.expect("added 192.0.2.1:6500")
		if l.beats != 3 {
			t.Errorf("%v without events: %d comments, want 3", time.Since(began), l.beats)
		}
	})
}

func TestStreamSlowReader(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		c := ln.Dial(t)
		listen(t, c, "")
		began := time.Now()
		f.Put(webtest.Listed{})
		for f.api.feed.len() > 0 {
			time.Sleep(time.Second)
		}
		if got := time.Since(began); got < streamWrite || got > streamWrite+2*time.Second {
			t.Errorf("a client that does not read was cut after %v, want %v after the event", got, streamWrite)
		}
		if got := f.Count("respawnd_dropped_total", "service", "web", "reason", dropSlowStream); got != 1 {
			t.Errorf("slow streams counted: got %v, want 1", got)
		}
	})
}

func TestStreamWithoutTimeout(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		l := listen(t, ln.Dial(t), "")
		time.AfterFunc(time.Hour, func() { f.Put(webtest.Listed{}) })
		l.expect("added 192.0.2.1:6500")
	})
}

func TestStreamStop(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *webtest.Pipes, stop func() time.Duration) {
		c := ln.Dial(t)
		l := listen(t, c, "")
		go func() { _, _ = io.Copy(io.Discard, l.in) }()
		synctest.Wait()
		if took := stop(); took > 600*time.Millisecond { // Shutdown looks for idle connections with pauses
			t.Errorf("with an open stream Serve ended after %v", took)
		}
	})
}

func TestStreamLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		most   int
		each   int
		status int
		reason string
	}{
		"in all":      {2, 9, http.StatusServiceUnavailable, dropStreams},
		"per address": {9, 2, http.StatusTooManyRequests, dropStreamsPerAddr},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.api.SetStreams(tc.most, tc.each)
			ctx, leave := context.WithCancel(t.Context())
			join := func(ctx context.Context) *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				f.Handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events", nil))
				return w
			}
			done := make(chan *httptest.ResponseRecorder)
			for i := range 2 {
				go func() { done <- join(ctx) }()
				for f.api.feed.len() <= i && t.Context().Err() == nil {
				}
			}
			w := join(ctx)
			if w.Code != tc.status || w.Header().Get("Retry-After") == "" || webtest.ErrorText(t, w) == "" {
				t.Errorf("one stream too many: got %d %v, want %d with Retry-After", w.Code, w.Header(), tc.status)
			}
			if got := f.Count("respawnd_dropped_total", "service", "web", "reason", tc.reason); got != 1 {
				t.Errorf("streams refused under %s: got %v, want 1", tc.reason, got)
			}
			leave()
			for range 2 {
				if w := <-done; w.Code != http.StatusOK {
					t.Errorf("stream within the bound: got %d, want 200", w.Code)
				}
			}
			if n, seats := f.api.feed.len(), f.api.streams.Len(); n != 0 || seats != 0 {
				t.Errorf("after all left: %d streams, %d seats", n, seats)
			}
		})
	}
}

func TestStreamLimitsOfTrusted(t *testing.T) {
	f := newFixture(t)
	f.trusted = front.IsNear
	f.api.SetStreams(9, 1)
	for i := range 3 {
		if a := f.api.streams.Enter(addr("192.168.1.5:1").Addr(), time.Now(), func() {}); a.Seat == nil {
			t.Errorf("stream %d of an exempt visitor: refused as %s", i, a.Refused)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/events", nil)
	r.RemoteAddr = "192.168.1.5:9"
	ctx, cancel := context.WithCancel(r.Context())
	cancel() // the stream ends as soon as it is let in
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r.WithContext(ctx))
	if w.Code != http.StatusOK {
		t.Errorf("a further stream of an exempt visitor: got %d, want 200", w.Code)
	}
}

func TestEventsParameters(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/api/v1/events?game=a%20b", "/api/v1/events?token=x", "/api/v1/events?game=a&game=b"} {
		if w := f.Get(target); w.Code != http.StatusBadRequest || webtest.ErrorText(t, w) == "" {
			t.Errorf("GET %s: got %d, want 400", target, w.Code)
		}
	}
	if w := f.Do(http.MethodHead, "/api/v1/events?game="+strings.Repeat("g", games.MaxNameLen)); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD of events: got %d with %d bytes, want 200 with none", w.Code, w.Body.Len())
	}
}

func TestEventsForeignText(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		l := listen(t, ln.Dial(t), "")
		for i, text := range webtest.HostileTexts() {
			f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.%d:1", i), Rules: []string{"hostname", text, "mapname", text}})
		}
		for range webtest.HostileTexts() {
			e := l.next()
			webtest.Decode[webtest.ServerJSON](t, strings.NewReader(e.data))
			webtest.CheckNothingHidden(t, e.data)
		}
	})
}

func TestFeedCatchUp(t *testing.T) {
	f := newFixture(t)
	feed := f.api.feed
	at := feed.join()
	const rounds = keptBatches + 5
	for i := range rounds {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.%d:1", i)})
		feed.advance()
	}
	if b, _, wait := feed.next(at); b != nil || wait != nil || len(feed.batches) != keptBatches {
		t.Fatalf("a place behind the kept batches: got %v, %d kept; want to catch up", b, len(feed.batches))
	}
	told := 0
	for {
		b, now, wait := feed.next(at)
		if wait != nil {
			break
		}
		if b == nil {
			b = feed.write(at, now)
		}
		if b.from != at {
			t.Fatalf("batch from %d for a stream at %d", b.from, at)
		}
		told += len(b.events)
		at = b.to
	}
	if told != rounds {
		t.Errorf("%d servers were told, want %d", told, rounds)
	}
}

func TestFeedLimits(t *testing.T) {
	f := newFixture(t)
	feed := f.api.feed
	at := feed.join()
	f.Fill(maxBatchChanges + 10)
	if b := feed.write(at, feed.lister.registry.LastSerial()); len(b.events) != maxBatchChanges || b.to != maxBatchChanges {
		t.Errorf("%d changes: the batch has %d events up to %d, want %d", maxBatchChanges+10, len(b.events), b.to, maxBatchChanges)
	}
	from := feed.lister.registry.LastSerial()
	const large = 30
	for i := range large {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("192.0.2.%d:1", i), Rules: []string{"motd", strings.Repeat("x", 50_000)}})
	}
	told := 0
	for at := from; at < feed.lister.registry.LastSerial(); {
		b := feed.write(at, feed.lister.registry.LastSerial())
		if len(b.text) > maxBatch || len(b.events) == 0 {
			t.Fatalf("a batch has %d bytes and %d events, want at most %d bytes", len(b.text), len(b.events), maxBatch)
		}
		told += len(b.events)
		at = b.to
	}
	if told != large {
		t.Errorf("%d servers were told, want %d", told, large)
	}
	for i := range 3 {
		f.Put(webtest.Listed{Addr: fmt.Sprintf("198.51.100.%d:1", i)})
		feed.advance()
		last := feed.batches[len(feed.batches)-1]
		last.text = make([]byte, keptBytes/2) // as if that much had happened
	}
	f.Put(webtest.Listed{Addr: "198.51.100.9:1"})
	feed.advance()
	if n := feed.heldBytes(); n > keptBytes || len(feed.batches) == 0 {
		t.Errorf("%d batches with %d bytes are kept, want at most %d", len(feed.batches), n, keptBytes)
	}
}

func TestFeedReset(t *testing.T) {
	f := newFixture(t)
	for i := range maxCatchUp + 1 {
		f.Put(webtest.Listed{Rules: []string{"hostname", fmt.Sprint(i)}})
	}
	for from, want := range map[uint64]string{0: "reset", 1: "changed"} {
		b := f.api.feed.write(from, maxCatchUp+1)
		if !strings.Contains(string(b.text), "event: "+want+"\n") || b.from != from {
			t.Errorf("%d changes: got %q, want %s", maxCatchUp+1-from, b.text, want)
		}
	}
}

func TestFeedIdle(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		c := ln.Dial(t)
		listen(t, c, "")
		_ = c.Close()
		synctest.Wait()
		f.Fill(10)
		time.Sleep(time.Minute)
		if n := len(f.api.feed.batches); n != 0 {
			t.Errorf("no stream is open and %d batches are kept", n)
		}
	})
}
