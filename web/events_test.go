package web

import (
	"bufio"
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
)

// event is one event as a client reads it.
type event struct{ id, kind, data string }

// listener reads the events of a connection. The body must not be chunked.
type listener struct {
	t      *testing.T
	in     *bufio.Reader
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
	return &listener{t: t, in: bufio.NewReader(resp.Body)}
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

func TestEventsTellWhatHappens(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		f.put(listed{addr: "192.0.2.9:1"}) // before: nothing is told of it
		l := listen(t, ln.dial(t), "")
		key := f.put(listed{addr: "192.0.2.1:1", rules: []string{"hostname", "One"}})
		e := l.next()
		got := decode[serverJSON](t, strings.NewReader(e.data))
		if e.kind != "added" || got.ID != "qr2-192.0.2.1-1" || got.Name != "One" || got.Rules["hostname"] != "One" || got.PlayerList != nil {
			t.Errorf("event: got %+v, want that the server was added, as the list shows it", e)
		}
		f.put(listed{addr: "192.0.2.1:1", rules: []string{"hostname", "Two"}})
		if e = l.next(); e.kind != "changed" || decode[serverJSON](t, strings.NewReader(e.data)).Name != "Two" {
			t.Errorf("event: got %+v, want the change of the name", e)
		}
		f.registry.Remove(key)
		if e = l.next(); e.kind != "removed" || e.data != `{"id":"qr2-192.0.2.1-1","game":"gmtest","address":"192.0.2.1:1"}` {
			t.Errorf("event: got %+v, want the removal", e)
		}
	})
}

func TestEventsWithinAMomentAreOne(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		stays := f.put(listed{addr: "192.0.2.1:1"})
		goes := f.put(listed{addr: "192.0.2.2:1"})
		l := listen(t, ln.dial(t), "")
		f.put(listed{addr: "192.0.2.3:1"}) // added, then changed
		f.put(listed{addr: "192.0.2.3:1", rules: []string{"a", "b"}})
		f.registry.Remove(f.put(listed{addr: "192.0.2.4:1"})) // nobody ever saw it
		f.registry.Remove(stays)                              // came back at once
		f.put(listed{addr: "192.0.2.1:1"})
		f.put(listed{addr: "192.0.2.2:1", rules: []string{"a", "b"}})
		f.registry.Remove(goes)
		f.put(listed{addr: "192.0.2.5:1", game: "gmtest"}) // became another game's
		f.put(listed{addr: "192.0.2.5:1", game: "gmother"})
		l.expect("added 192.0.2.3:1", "changed 192.0.2.1:1", "removed 192.0.2.2:1", "added 192.0.2.5:1")
	})
}

func TestEventsOfOneGame(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		all, mine := listen(t, ln.dial(t), ""), listen(t, ln.dial(t), "?game=GMOther")
		f.put(listed{addr: "192.0.2.1:1", game: "gmtest"})
		f.put(listed{addr: "192.0.2.2:1", game: "gmother"})
		f.put(listed{addr: "192.0.2.3:1", game: "gmtest"})
		f.put(listed{addr: "192.0.2.4:1", game: "gmother"})
		all.expect("added 192.0.2.1:1", "added 192.0.2.2:1", "added 192.0.2.3:1", "added 192.0.2.4:1")
		mine.expect("added 192.0.2.2:1", "added 192.0.2.4:1")
	})
}

func TestStreamGoesOnBehindItsLastEvent(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		c := ln.dial(t)
		l := listen(t, c, "")
		f.put(listed{addr: "192.0.2.1:1"})
		l.expect("added 192.0.2.1:1")
		_ = c.Close()
		synctest.Wait()
		f.put(listed{addr: "192.0.2.2:1"})
		f.put(listed{addr: "192.0.2.1:1", rules: []string{"a", "b"}})
		again := listen(t, ln.dial(t), "", "Last-Event-ID", l.lastID)
		again.expect("added 192.0.2.2:1", "changed 192.0.2.1:1")
		f.put(listed{addr: "192.0.2.3:1"})
		again.expect("added 192.0.2.3:1") // the one that all share

		third := listen(t, ln.dial(t), "", "Last-Event-ID", l.lastID) // while others listen
		third.expect("added 192.0.2.2:1", "changed 192.0.2.1:1", "added 192.0.2.3:1")
	})
}

func TestStreamLearnsThatItMissedSomething(t *testing.T) {
	const held = 16
	synctest.Test(t, func(t *testing.T) {
		f, ln := newFixture(t, func(o *Options) {
			o.Registry = master.NewRegistry(master.Limits{Changes: held, PerAddr: 1 << 20, PerNet: 1 << 20})
		}), newPipes()
		f.registry = f.server.opt.Registry
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.server.Serve(ctx, ln) }()
		old := f.server.feed.id(0)
		f.fill(held + 1)
		gap := listen(t, ln.dial(t), "", "Last-Event-ID", old)
		gap.expect("reset gap")
		f.put(listed{addr: "192.0.2.1:1"})
		gap.expect("added 192.0.2.1:1")
		for name, id := range map[string]string{
			"another run": "deadbeef-3", "no id": "x", "hostile": "\"><script>", "the future": f.server.feed.id(1 << 40), "negative": f.server.feed.epoch + "--1",
		} {
			l := listen(t, ln.dial(t), "", "Last-Event-ID", id)
			l.expect("reset restart")
			if l.lastID != f.server.feed.id(f.server.feed.newest()) {
				t.Errorf("%s: after a reset the place is %q, want the newest", name, l.lastID)
			}
		}
		f.fill(3 * held) // more than the log holds, within one pause
		gap.expect("reset gap")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

func TestQuietStreamGetsComments(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		l := listen(t, ln.dial(t), "")
		began := time.Now()
		time.AfterFunc(3*streamBeat+time.Second, func() { f.put(listed{}) })
		l.expect("added 192.0.2.1:6500")
		if l.beats != 3 {
			t.Errorf("%v without events: %d comments, want 3", time.Since(began), l.beats)
		}
	})
}

func TestStreamThatIsNotReadIsCut(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		c := ln.dial(t)
		listen(t, c, "")
		began := time.Now()
		f.put(listed{})
		for f.server.feed.len() > 0 {
			time.Sleep(time.Second)
		}
		if got := time.Since(began); got < streamWrite || got > streamWrite+2*time.Second {
			t.Errorf("a client that does not read was cut after %v, want %v after the event", got, streamWrite)
		}
		if got := f.count("respawnd_dropped_total", "service", "web", "reason", dropSlowStream); got != 1 {
			t.Errorf("slow streams counted: got %v, want 1", got)
		}
	})
}

func TestStreamOutlivesTheTimeOutsOfRequests(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		l := listen(t, ln.dial(t), "")
		time.AfterFunc(10*(readTimeout+writeTimeout+idleTimeout), func() { f.put(listed{}) })
		l.expect("added 192.0.2.1:6500")
	})
}

func TestStopEndsStreamsAtOnce(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *pipes, stop func() time.Duration) {
		c := ln.dial(t)
		l := listen(t, c, "")
		go func() { _, _ = io.Copy(io.Discard, l.in) }()
		synctest.Wait()
		if took := stop(); took > 600*time.Millisecond { // Shutdown looks for idle connections with pauses
			t.Errorf("with an open stream Serve ended after %v", took)
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		policy Policy
		status int
		reason string
	}{
		"in all":      {Policy{MaxStreams: 2, MaxStreamsPerAddr: 9}, http.StatusServiceUnavailable, dropStreams},
		"per address": {Policy{MaxStreams: 9, MaxStreamsPerAddr: 2}, http.StatusTooManyRequests, dropStreamsPerAddr},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(o *Options) { o.Policy = tc.policy })
			ctx, leave := context.WithCancel(t.Context())
			join := func(ctx context.Context) *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				f.server.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events", nil))
				return w
			}
			done := make(chan *httptest.ResponseRecorder)
			for i := range 2 {
				go func() { done <- join(ctx) }()
				for f.server.feed.len() <= i && t.Context().Err() == nil {
				}
			}
			w := join(ctx)
			if w.Code != tc.status || w.Header().Get("Retry-After") == "" || errorText(t, w) == "" {
				t.Errorf("one stream too many: got %d %v, want %d with Retry-After", w.Code, w.Header(), tc.status)
			}
			if got := f.count("respawnd_dropped_total", "service", "web", "reason", tc.reason); got != 1 {
				t.Errorf("streams refused under %s: got %v, want 1", tc.reason, got)
			}
			leave()
			for range 2 {
				if w := <-done; w.Code != http.StatusOK {
					t.Errorf("stream within the bound: got %d, want 200", w.Code)
				}
			}
			if n, seats := f.server.feed.len(), f.server.streams.Len(); n != 0 || seats != 0 {
				t.Errorf("after all left: %d streams, %d seats", n, seats)
			}
		})
	}
}

func TestExemptVisitorMayHaveAllStreams(t *testing.T) {
	f := newFixture(t)
	f.server.SetPolicy(Policy{MaxStreams: 9, MaxStreamsPerAddr: 1, Exempt: isNear})
	for i := range 3 {
		if a := f.server.streams.Enter(addr("192.168.1.5:1").Addr(), time.Now(), func() {}); a.Seat == nil {
			t.Errorf("stream %d of an exempt visitor: refused as %s", i, a.Refused)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/events", nil)
	r.RemoteAddr = "192.168.1.5:9"
	ctx, cancel := context.WithCancel(r.Context())
	cancel() // the stream ends as soon as it is let in
	w := httptest.NewRecorder()
	f.server.Handler().ServeHTTP(w, r.WithContext(ctx))
	if w.Code != http.StatusOK {
		t.Errorf("a further stream of an exempt visitor: got %d, want 200", w.Code)
	}
}

func TestWrongParametersOfEvents(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/api/v1/events?game=a%20b", "/api/v1/events?token=x", "/api/v1/events?game=a&game=b"} {
		if w := f.get(target); w.Code != http.StatusBadRequest || errorText(t, w) == "" {
			t.Errorf("GET %s: got %d, want 400", target, w.Code)
		}
	}
	if w := f.do(http.MethodHead, "/api/v1/events?game="+strings.Repeat("g", games.MaxNameLen)); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD of events: got %d with %d bytes, want 200 with none", w.Code, w.Body.Len())
	}
}

func TestHostileTextsInEventsAreOneCleanLine(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		l := listen(t, ln.dial(t), "")
		for i, text := range hostileTexts() {
			f.put(listed{addr: fmt.Sprintf("192.0.2.%d:1", i), rules: []string{"hostname", text, "mapname", text}})
		}
		for range hostileTexts() {
			e := l.next()
			decode[serverJSON](t, strings.NewReader(e.data))
			checkNothingHidden(t, e.data)
		}
	})
}

func TestStreamThatLagsCatchesUpByItself(t *testing.T) {
	f := newFixture(t)
	feed := f.server.feed
	at := feed.join()
	const rounds = keptBatches + 5
	for i := range rounds {
		f.put(listed{addr: fmt.Sprintf("192.0.2.%d:1", i)})
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

func TestBatchesAreBounded(t *testing.T) {
	f := newFixture(t)
	feed := f.server.feed
	at := feed.join()
	f.fill(maxBatchChanges + 10)
	if b := feed.write(at, feed.lister.registry.LastSerial()); len(b.events) != maxBatchChanges || b.to != maxBatchChanges {
		t.Errorf("%d changes: the batch has %d events up to %d, want %d", maxBatchChanges+10, len(b.events), b.to, maxBatchChanges)
	}
	from := feed.lister.registry.LastSerial()
	for i := range 100 {
		f.put(listed{addr: fmt.Sprintf("192.0.2.%d:1", i), rules: []string{"motd", strings.Repeat("x", 50_000)}})
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
	if told != 100 {
		t.Errorf("%d servers were told, want 100", told)
	}
	for range 3 * keptBytes / maxBatch {
		for i := range 20 {
			f.put(listed{addr: fmt.Sprintf("192.0.2.%d:1", i), rules: []string{"motd", strings.Repeat("y", 50_000)}})
		}
		feed.advance()
	}
	if feed.bytes > keptBytes || len(feed.batches) == 0 {
		t.Errorf("%d batches with %d bytes are kept, want at most %d", len(feed.batches), feed.bytes, keptBytes)
	}
}

func TestMoreThanIsToldAfterwardsIsAReset(t *testing.T) {
	f := newFixture(t)
	for i := range maxCatchUp + 1 {
		f.put(listed{rules: []string{"hostname", fmt.Sprint(i)}})
	}
	for from, want := range map[uint64]string{0: "reset", 1: "changed"} {
		b := f.server.feed.write(from, maxCatchUp+1)
		if !strings.Contains(string(b.text), "event: "+want+"\n") || b.from != from {
			t.Errorf("%d changes: got %q, want %s", maxCatchUp+1-from, b.text, want)
		}
	}
}

func TestNothingIsWrittenWithoutStreams(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *pipes, _ func() time.Duration) {
		c := ln.dial(t)
		listen(t, c, "")
		_ = c.Close()
		synctest.Wait()
		f.fill(10)
		time.Sleep(time.Minute)
		if n := len(f.server.feed.batches); n != 0 {
			t.Errorf("nobody listens and %d batches are kept", n)
		}
	})
}
