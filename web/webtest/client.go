package webtest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
)

// Start serves f on loopback until the test ends.
func (f *Fixture) Start(t *testing.T) (addr string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		result <- f.Serve(ctx, ln)
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
	})
	return ln.Addr().String(), cancel, result
}

// Dial connects to an address until the test ends.
func Dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Ask sends raw text and reads one answer.
func Ask(t *testing.T, c net.Conn, request string) *http.Response {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatalf("Write: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("ReadResponse: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the body: %v", err)
	}
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	return resp
}

// GetList is a request for the list.
const GetList = "GET /api/v1/servers HTTP/1.1\r\nHost: x\r\n\r\n"

// Pipes is a listener whose connections are pipes, so that a test bubble can
// decide about their time.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipes returns a listener without connections.
func NewPipes() *Pipes {
	return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// Dial returns the client's end of a new connection.
func (p *Pipes) Dial(t *testing.T) net.Conn {
	t.Helper()
	mine, theirs := net.Pipe()
	p.conns <- theirs
	t.Cleanup(func() { _ = mine.Close() })
	return mine
}

// Serving runs Serve on pipes while test runs, in a bubble of synctest. stop stops
// it and returns how long that took.
func (f *Fixture) Serving(t *testing.T, test func(ln *Pipes, stop func() (took time.Duration))) {
	t.Helper()
	ln := NewPipes()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- f.Serve(ctx, ln) }()
	stop := sync.OnceValue(func() time.Duration {
		began := time.Now()
		cancel()
		if err := <-result; err != nil {
			t.Errorf("Serve: got %v, want nil", err)
		}
		return time.Since(began)
	})
	test(ln, stop)
	stop()
	synctest.Wait()
}

// EndsAfter reads until the server closes c and checks when that is.
func EndsAfter(t *testing.T, c net.Conn, want time.Duration) {
	t.Helper()
	began := time.Now()
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read: %v", err)
	}
	if got := time.Since(began); got != want {
		t.Errorf("the connection was closed after %v, want %v", got, want)
	}
}

// HostileTexts are things that strangers call their servers.
func HostileTexts() []string {
	return []string{
		"", " ", "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "{{.Secret}}", "</table></body>",
		"\x1b[31mred\x1b]0;title\x07", "a\x00b\r\nSet-Cookie: x=1", "\u202eevil\u202c", "\u2066x\u2069\u200e\u200f\u061c",
		"zero\u200bwidth\u200d\ufeff", "soft\u00adhyphen", "line\u2028sep\u2029", "\xff\xfe\xfd", "M\xfcnchen", "\xc3\xbcber \x80\x9f",
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "caf\u00e9 \U0001F3AE 日本 العربية", `\" \\ \u0000`, "\U000E0041tag", "z\u0300\u0300\u0300\u0300",
		strings.Repeat("long ", 300), "\u3164", "\u0085\u009b31m", "'; DROP TABLE servers; --", "\x7f",
	}
}

// CheckNothingHidden fails on characters that must not leave this package.
func CheckNothingHidden(t *testing.T, s string) {
	t.Helper()
	for i, r := range s {
		if clean.IsHidden(r) || r == '\ufffd' {
			t.Errorf("offset %d has %U, in %q", i, r, s[max(0, i-20):min(len(s), i+20)])
			return
		}
	}
}
