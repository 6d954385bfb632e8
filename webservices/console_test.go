package webservices

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/webservices/nas"
)

// serveConsoles serves a server with the backend for consoles over a socket.
func serveConsoles(t *testing.T) (s *Server, address string) {
	t.Helper()
	r := nas.New(nas.Options{Self: part.Self{Name: name, Log: zerolog.Nop()}})
	_, opt := newTestServer(t, nil)
	opt.Registerer = prometheus.NewRegistry()
	s = newServer(*opt, []backend{echo(), {pages: r.Pages(), find: r.Find, names: nas.Names()}})
	takeTime(s)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, ln.Addr().String()
}

// TestTwoHosts answers requests that state their host twice, and refuses those that state
// two hosts or could be read in two ways.
func TestTwoHosts(t *testing.T) {
	s, address := serveConsoles(t)
	const host, body = "Host: nas.nintendowifi.net\r\n", "action=YWNjdGNyZWF0ZQ**"
	const length = "Content-Length: 23\r\n"
	for name, tt := range map[string]struct {
		request string
		status  int
	}{
		"twice":                     {"POST /ac HTTP/1.1\r\n" + host + length + host + "\r\n" + body, 200},
		"twice, HTTP/1.0":           {"POST /ac HTTP/1.0\r\n" + host + host + length + "\r\n" + body, 200},
		"keep-alive":                {"POST /ac HTTP/1.1\r\n" + host + "Connection: keep-alive\r\n" + host + length + "\r\n" + body, 200},
		"twice, another one behind": {"POST /ac HTTP/1.1\r\n" + host + host + length + "\r\n" + body + "POST /ac HTTP/1.1\r\n" + host + length + "\r\n" + body, 200},
		"connection test":           {"GET / HTTP/1.1\r\n" + host + host + "\r\n", 200},
		"two hosts":                 {"GET / HTTP/1.1\r\n" + host + "Host: motd.gamespy.com\r\n\r\n", 400},
		"two hosts, three lines":    {"GET / HTTP/1.1\r\n" + host + host + "Host: motd.gamespy.com\r\n\r\n", 400},
		"host continues":            {"GET / HTTP/1.1\r\n" + host + host + " x\r\n\r\n", 400},
		"space before the colon":    {"GET / HTTP/1.1\r\n" + host + "Host : nas.nintendowifi.net\r\n\r\n", 400},
		"too many":                  {"GET / HTTP/1.1\r\n" + strings.Repeat(host, 7) + "\r\n", 400},
		"two lengths":               {"POST /ac HTTP/1.1\r\n" + host + host + length + "Content-Length: 2\r\n\r\n" + body, 400},
		"length and chunks":         {"POST /ac HTTP/1.1\r\n" + host + host + "Transfer-Encoding: chunked, x\r\n" + length + "\r\n" + body, 501},
		"no host":                   {"GET / HTTP/1.1\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := answerTo(t, address, tt.request)
			if r.StatusCode != tt.status || !r.Close {
				t.Errorf("%d %v %q, want %d and the end of the connection", r.StatusCode, r.Header, got, tt.status)
			}
			if strings.HasPrefix(tt.request, "POST") && tt.status == 200 && !strings.Contains(got, "returncd=MDAy") {
				t.Errorf("answer %q", got)
			}
		})
	}
	if n := testutil.ToFloat64(s.metrics.repaired); n < 6 {
		t.Errorf("%v repairs were counted", n)
	}
}

// TestSlowConsole sends a request byte by byte, which keeps its connection for as long as
// its header may take.
func TestSlowConsole(t *testing.T) {
	_, address := serveConsoles(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(hang)); err != nil {
		t.Fatal(err)
	}
	const request = "GET / HTTP/1.1\r\nHost: conntest.nintendowifi.net\r\nHost: conntest.nintendowifi.net\r\n\r\n"
	for i := range len(request) {
		if _, err := io.WriteString(conn, request[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n") || !strings.Contains(string(answer), "\r\nX-Organization: Nintendo\r\n") {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestConsoleClient plays a console against the service.
func TestConsoleClient(t *testing.T) {
	_, address := serveConsoles(t)
	c := nas.Client{Address: address, Domain: "example.org"}
	page, err := c.Get(t.Context(), "conntest", "/")
	if err != nil || page.Status != http.StatusOK || string(page.Body) != "ok" {
		t.Errorf("Get() = %+v, %v", page, err)
	}
	login, err := c.Make(t.Context(), "RMCJ")
	if err != nil || !login.Has("userid") {
		t.Errorf("Make() = %s, %v", login.Append(nil), err)
	}
	if _, err := c.Ask(t.Context(), "/ac", nas.Form{{Name: "action", Value: []byte("other")}}); err == nil || !strings.Contains(err.Error(), `"109"`) {
		t.Errorf("Ask() = %v", err)
	}
}
