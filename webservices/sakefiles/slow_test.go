package sakefiles

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/webservices/soap"
)

// oneConn is a listener that accepts one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l oneConn) Close() error   { close(l.closed); return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// serveOne serves one connection and returns the end of the client.
func serveOne(t *testing.T, r *Backend) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	l := oneConn{make(chan net.Conn, 1), make(chan struct{})}
	l.conn <- server
	hs := &http.Server{ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Body = http.MaxBytesReader(w, req.Body, maxForm)
		r.upload(w, req, &soap.Request{Host: "gmtest.sake.gamespy.com", Game: "gmtest", From: netip.AddrPortFrom(home, 1)})
	})}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(l) }()
	t.Cleanup(func() { _ = client.Close(); _, _ = hs.Close(), <-ended })
	return client
}

// post writes the head of an upload with a body of a length.
func post(t *testing.T, client net.Conn, length int) {
	t.Helper()
	head := "POST /SakeFileServer/upload.aspx?gameid=0&pid=1 HTTP/1.1\r\nHost: gmtest.sake.gamespy.com\r\nConnection: close\r\nContent-Length: " +
		strconv.Itoa(length) + "\r\nContent-Type: multipart/form-data; boundary=" + boundary + "\r\n\r\n"
	if _, err := io.WriteString(client, head); err != nil {
		t.Fatal(err)
	}
}

func TestSlowUpload(t *testing.T) {
	for name, tt := range map[string]struct {
		pause time.Duration // after each byte
		bytes int           // that are sent
		want  Result
		least time.Duration // until the answer
		most  time.Duration
	}{
		"stops":          {0, 100, ServerError, idleTime, idleTime + time.Second},
		"byte by byte":   {time.Second, 1 << 20, ServerError, uploadTime, uploadTime + 2*time.Second},
		"slow but alive": {50 * time.Millisecond, 1 << 20, OK, 5 * time.Second, uploadTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBackend(t, nil)
				var sending sync.WaitGroup
				defer sending.Wait()
				client := serveOne(t, r)
				defer func() { _ = client.Close() }()
				body := form("hello file")
				post(t, client, len(body))
				began := time.Now()
				sending.Go(func() {
					for i := range min(tt.bytes, len(body)) {
						if _, err := io.WriteString(client, body[i:i+1]); err != nil {
							return
						}
						time.Sleep(tt.pause)
					}
				})
				resp, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				if took := time.Since(began); result(resp) != tt.want || took < tt.least || took > tt.most {
					t.Errorf("result %d after %v, want %d after %v to %v", result(resp), took, tt.want, tt.least, tt.most)
				}
				if r.uploads() != 0 || strings.Join(resp.Header["Sake-File-Id"], "") != "" && tt.want != OK {
					t.Errorf("%d uploads are still counted, header %v", r.uploads(), resp.Header)
				}
			})
		})
	}
}
