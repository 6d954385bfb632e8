package admin

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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/logtail"
	"github.com/respawnd/respawnd/internal/metric/metrictest"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/service"
)

func TestLogLines(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	log := zerolog.New(x.tail)
	log.Info().Str("service", "qr2").Int("n", 7).Msg("first")
	log.Warn().Msg("second")
	h := x.s.Handler()

	var v struct {
		Lines []struct {
			Seq  uint64
			Line struct{ Level, Message string }
		}
	}
	ask := func(query string) string {
		t.Helper()
		w := request(t, h, http.MethodGet, "/api/v1/log"+query, "Bearer "+testToken, "")
		v.Lines = nil
		if err := json.Unmarshal(w.Body.Bytes(), &v); w.Code != http.StatusOK || err != nil {
			t.Fatalf("GET /api/v1/log%s: %d %s", query, w.Code, w.Body)
		}
		var out []string
		for _, l := range v.Lines {
			out = append(out, l.Line.Message)
		}
		return strings.Join(out, " ")
	}
	if got := ask(""); !strings.HasSuffix(got, "first second") {
		t.Errorf("lines: %s", got)
	}
	if got := ask("?limit=1"); got != "second" {
		t.Errorf("one line: %s", got)
	}
	if got := ask("?level=warn"); got != "second" {
		t.Errorf("lines of level warn: %s", got)
	}
	for _, query := range []string{"?level=x", "?limit=x", "?limit=-1"} {
		for _, path := range []string{"/api/v1/log", "/api/v1/log/stream"} {
			if w := request(t, h, http.MethodGet, path+query, "Bearer "+testToken, ""); w.Code != http.StatusBadRequest {
				t.Errorf("GET %s%s: %d", path, query, w.Code)
			}
		}
	}
	p := b.get("/log?level=info&limit=5")
	for _, want := range []string{"<span>first</span> <i>service=qr2 n=7</i>", `<li class="warn">`, `<option selected>info`, `data-stream="/log/stream?level=info"`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("GET /log lacks %s:\n%s", want, p.body)
		}
	}
	if p := b.get("/log?level=error"); strings.Contains(p.body, "<span>first</span>") {
		t.Error("GET /log?level=error shows an info line")
	}
}

// events reads a stream of events.
type events struct {
	t    testing.TB
	body io.ReadCloser
	r    *bufio.Scanner
}

// watch opens a stream.
func watch(t testing.TB, client *http.Client, r *http.Request) *events {
	t.Helper()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %d %s", r.URL.Path, resp.StatusCode, b)
	}
	e := &events{t: t, body: resp.Body, r: bufio.NewScanner(resp.Body)}
	if !e.r.Scan() || e.r.Text() != ": the log" {
		t.Fatalf("the stream begins with %q", e.r.Text())
	}
	return e
}

// next returns the data of the next event, "" at the end.
func (e *events) next() string {
	e.t.Helper()
	for e.r.Scan() {
		if data, ok := strings.CutPrefix(e.r.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

func TestStream(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	log := zerolog.New(x.tail)
	api := b.request(http.MethodGet, "/api/v1/log/stream?level=warn", nil)
	api.Header.Set("Authorization", "Bearer "+testToken)
	programs := watch(t, http.DefaultClient, api)
	people := watch(t, b.client, b.request(http.MethodGet, "/log/stream?level=info", nil))
	log.Info().Msg("one")
	log.Warn().Str("nick", "a\u202eb").Msg("two")
	if got := programs.next(); !strings.Contains(got, `"message":"two"`) {
		t.Errorf("the stream of the API has %s", got)
	}
	for _, want := range []string{`"message":"one"`, `"fields":"nick=a\\u202eb"`} {
		if got := people.next(); !strings.Contains(got, want) {
			t.Errorf("the stream of the page has %s, want %s", got, want)
		}
	}
	if got := metrictest.Value(t, x.reg, "respawnd_admin_log_streams"); got != 2 {
		t.Errorf("streams counted: %v, want 2", got)
	}
	b.get("/")
	b.post("/logout")
	log.Info().Msg("three") // wakes the stream, which then notices
	for range 3 {
		if people.next() == "" {
			return
		}
		log.Info().Msg("more")
	}
	t.Error("the stream continues although its session has ended")
}

func TestStreamLimit(t *testing.T) {
	x := newSite(t, nil)
	b := x.operator(t)
	for range maxStreams {
		watch(t, b.client, b.request(http.MethodGet, "/log/stream", nil))
	}
	if p := b.get("/log/stream"); p.code != http.StatusServiceUnavailable || p.header.Get("Retry-After") == "" {
		t.Errorf("one stream too many: %d", p.code)
	}
	w := request(t, x.s.Handler(), http.MethodGet, "/api/v1/log/stream", "Bearer "+testToken, "")
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("one stream too many of the API: %d %s", w.Code, w.Body)
	}
	if got := metrictest.Value(t, x.reg, "respawnd_admin_refused_total", refusedStreams); got != 2 {
		t.Errorf("refused streams counted: %v, want 2", got)
	}
}

// recorder is a client that accepts everything, in a bubble of synctest.
type recorder struct {
	mu   sync.Mutex
	text strings.Builder
	head http.Header
}

func (r *recorder) Header() http.Header { return r.head }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func TestStreamMissedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := Options{Operations: service.Operations{Tail: logtail.New(10)}, Self: part.Self{Log: zerolog.Nop()}}
		s := New(opt)
		ctx, cancel := context.WithCancel(t.Context())
		out := &recorder{head: http.Header{}}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/log/stream", nil)
		ended := make(chan struct{})
		go func() { defer close(ended); s.streamLog(out, r) }()
		synctest.Wait()
		log := zerolog.New(opt.Tail)
		log.Info().Msg("a")
		synctest.Wait()
		for i := range 25 { // within one pause: the ring holds ten
			log.Info().Msgf("b%d", i)
		}
		time.Sleep(streamPause)
		synctest.Wait()
		got := out.String()
		if !strings.Contains(got, `"message":"a"`) || !strings.Contains(got, "event: missed\ndata: 15\n") || strings.Contains(got, `"b14"`) || !strings.Contains(got, `"b15"`) || !strings.Contains(got, `"b24"`) {
			t.Errorf("the stream is\n%s", got)
		}
		time.Sleep(streamPause + streamSilence)
		synctest.Wait()
		if !strings.Contains(out.String(), ": quiet") {
			t.Error("a quiet stream does not say that it lives")
		}
		cancel()
		<-ended
	})
}

// A client that never reads is disconnected, and delays neither the log nor
// others.
func TestStreamUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tail := logtail.New(1000)
		s := New(Options{Operations: service.Operations{Tail: tail}, Token: testToken, Self: part.Self{Log: zerolog.Nop()}})
		ours, theirs := net.Pipe()
		ln := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		ln.conn <- ours
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, ln) }()
		if _, err := fmt.Fprintf(theirs, "GET /api/v1/log/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", testToken); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(s.streams) != 1 {
			t.Fatalf("%d streams are open, want 1", len(s.streams))
		}
		log := zerolog.New(tail)
		for range 5000 {
			log.Info().Msg("line") // would never end if it waited for the client
		}
		time.Sleep(writeTimeout + time.Second)
		synctest.Wait()
		if len(s.streams) != 0 {
			t.Errorf("%d streams are open after %v, want 0", len(s.streams), writeTimeout)
		}
		_ = theirs.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve() = %v", err)
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func TestFieldText(t *testing.T) {
	for line, want := range map[string]string{
		`"further":[":6121",":27655"]`: "further=:6121,:27655",
		`"ports":[1,[2,"a"]]`:          "ports=1,2,a",
		`"n":1.5`:                      "n=1.5",
		`"empty":[]`:                   "empty=",
		`"of":{"a":[1]}`:               `of={"a":[1]}`,
	} {
		if got := newLogLine(logtail.Line{Text: []byte("{" + line + "}")}).Fields; got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
