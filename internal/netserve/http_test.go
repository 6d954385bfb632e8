package netserve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// httpServing is a ServeHTTP on a fake listener, inside a synctest bubble.
type httpServing struct {
	*fakeListener
	t   *testing.T
	reg *prometheus.Registry
	srv *http.Server
	end chan error
}

func serveHTTP(t *testing.T, opt ConnOptions) *httpServing {
	s := &httpServing{fakeListener: newFakeListener(), t: t, reg: prometheus.NewRegistry(), end: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/fast", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/events", func(_ http.ResponseWriter, r *http.Request) {
		SetState(r.Context(), StateStream)
		<-r.Context().Done()
	})
	s.srv = &http.Server{Handler: mux, ReadHeaderTimeout: time.Hour}
	opt.Metrics = NewMetrics(s.reg, "test")
	go func() { s.end <- ServeHTTP(s.srv, s, opt) }()
	return s
}

// say connects and sends a text.
func (s *httpServing) say(from, text string) net.Conn {
	far := s.connect(from)
	if text != "" {
		_, _ = io.WriteString(far, text)
	}
	synctest.Wait()
	return far
}

func (s *httpServing) stop() {
	_ = s.srv.Close()
	if err := <-s.end; !errors.Is(err, http.ErrServerClosed) {
		s.t.Errorf("ServeHTTP = %v", err)
	}
}

// answered reads the answer to a request and returns its status.
func answered(t *testing.T, far net.Conn) int {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(far), nil)
	if err != nil {
		t.Errorf("no answer: %v", err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

const fast = "GET /fast HTTP/1.1\r\nHost: x\r\n\r\n"

func TestHTTPConnectionsGiveWayByState(t *testing.T) {
	for name, tc := range map[string]struct{ first, second string }{
		"silent before idle":          {"", fast},
		"half a header before idle":   {"GET /fast HTTP/1.1\r\nHo", fast},
		"idle before stream":          {fast, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"},
		"half a second before stream": {fast + "GET /sl", "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"},
		"stream before busy":          {"GET /events HTTP/1.1\r\nHost: x\r\n\r\n", "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveHTTP(t, ConnOptions{MaxConns: 2, MaxPerAddr: -1})
				stays, goes := s.say("192.0.2.1:1", ""), s.say("192.0.2.1:2", "")
				tell := func(far net.Conn, text string) {
					go func() { _, _ = io.WriteString(far, text) }()
					if len(text) >= len(fast) && text[:len(fast)] == fast {
						answered(t, far)
					}
					synctest.Wait()
				}
				tell(stays, tc.second)
				tell(goes, tc.first)
				if got := answered(t, s.say("198.51.100.1:1", fast)); got != http.StatusOK {
					t.Errorf("the newcomer got %d, want 200", got)
				}
				if isClosed(stays) || !isClosed(goes) {
					t.Errorf("the one that had to give way is closed: %v, the other: %v", isClosed(goes), isClosed(stays))
				}
				wantValue(t, s.reg, "respawnd_connections", "", 2)
				s.stop()
				synctest.Wait()
				wantValue(t, s.reg, "respawnd_connections", "", 0)
			})
		})
	}
}

func TestRefusedHTTPClientsGetAnAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		opt    ConnOptions
		status int
		reason string
	}{
		"in all":      {ConnOptions{MaxConns: 1}, http.StatusServiceUnavailable, "full"},
		"per address": {ConnOptions{MaxPerAddr: 1}, http.StatusTooManyRequests, "per_address"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := serveHTTP(t, tc.opt)
				held := s.say("192.0.2.1:1", "")
				if got := answered(t, s.connect("192.0.2.1:2")); got != tc.status {
					t.Errorf("one too many got %d, want %d", got, tc.status)
				}
				wantValue(t, s.reg, "respawnd_connections_refused_total", tc.reason, 1)
				_ = held.Close()
				synctest.Wait()
				if got := answered(t, s.say("192.0.2.1:3", fast)); got != http.StatusOK {
					t.Errorf("after one has left: %d, want 200", got)
				}
				s.stop()
			})
		})
	}
}

func TestSetStateWithoutServeHTTPDoesNothing(t *testing.T) {
	SetState(context.Background(), StateStream) // does not panic
	if got := fmt.Sprint(StateStream, State(99)); got != "stream unknown" {
		t.Errorf("states are named %q", got)
	}
}
