package main

import (
	"context"
	"net"
	"slices"
	"sync"
)

// fan is a bare server that sends the data of one connection to all others. It says
// ready to each connection that is one of them.
type fan struct {
	mu    sync.Mutex // guards conns, and orders writes
	conns []net.Conn
}

// fanReady is the line that a connection is sent first.
const fanReady = "READY"

// serve reads a connection until it is closed.
func (f *fan) serve(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer f.remove(conn)
	f.mu.Lock()
	f.conns = append(f.conns, conn)
	_, _ = conn.Write([]byte(fanReady + "\r\n")) // it may be closed
	f.mu.Unlock()
	buf := make([]byte, echoRequest)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		f.send(conn, buf[:n])
	}
}

// send sends b to all but the sender.
func (f *fan) send(from net.Conn, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		if c != from {
			_, _ = c.Write(b) // it may be closed
		}
	}
}

func (f *fan) remove(conn net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = conn.Close()
	f.conns = slices.DeleteFunc(f.conns, func(c net.Conn) bool { return c == conn })
}
