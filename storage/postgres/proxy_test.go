package postgres

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// A proxy forwards connections to a port of the loopback address.
type proxy struct {
	port int
	to   string
	sent atomic.Int64 // packets of clients

	mu     sync.Mutex
	isCut  chan struct{} // closed while nothing is forwarded
	conns  []net.Conn
	closed bool
}

// throughProxy returns a proxy and the URL of a database by way of it.
func throughProxy(t *testing.T, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, u.Query().Get("port"))
	return p, fmt.Sprintf("postgres://%s@127.0.0.1:%d%s?sslmode=disable", u.Query().Get("user"), p.port, u.Path)
}

func newProxy(t *testing.T, port string) *proxy {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{port: ln.Addr().(*net.TCPAddr).Port, to: net.JoinHostPort("127.0.0.1", port), isCut: make(chan struct{})}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = ln.Close()
		p.closeAll()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c, &wg) })
		}
	})
	return p
}

// serve forwards one connection until the proxy is cut; then it stays open.
func (p *proxy) serve(c net.Conn, wg *sync.WaitGroup) {
	d, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		_ = c.Close()
		return
	}
	p.mu.Lock()
	p.conns = append(p.conns, c, d)
	cut, closed := p.isCut, p.closed
	p.mu.Unlock()
	if closed {
		p.closeAll()
	}
	forward := func(to io.Writer, from io.Reader, packets *atomic.Int64) {
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			packets.Add(1)
			select {
			case <-cut:
				continue // swallowed
			default:
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	wg.Go(func() { forward(c, d, new(atomic.Int64)) })
	forward(d, c, &p.sent)
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.isCut)
}

// heal lets new connections through.
func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = make(chan struct{})
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		_ = c.Close()
	}
}
