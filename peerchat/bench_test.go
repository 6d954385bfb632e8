package peerchat

import (
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// receivers count the bytes that connections receive.
type receivers struct {
	left atomic.Int64 // bytes until every connection has its message
	done chan struct{}
}

// read reads from a connection until it ends.
func (r *receivers) read(c io.Reader) {
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if r.left.Add(-int64(n)) == 0 {
			r.done <- struct{}{}
		}
	}
}

// expect is called before bytes are sent, and wait returns when they are read.
func (r *receivers) expect(bytes int) { r.left.Add(int64(bytes)) }
func (r *receivers) wait()            { <-r.done }

// BenchmarkRoom sends a message to a room of 200, and the same bytes to 200 bare
// connections of the same kind in turn with it. The times, and the ratio of them, are
// those of the fastest rounds: the machine may be busy with something else.
func BenchmarkRoom(b *testing.B) {
	const members, round = 200, 25
	f := start(b, nil)
	clients := make([]*client, members+1)
	for i := range clients {
		clients[i] = f.signOn(fmt.Sprintf("n%d", i))
		clients[i].join("#room")
	}
	for _, c := range clients {
		c.ask()
	}
	text := strings.Repeat("x", 60)
	line := clients[0].masked() + " PRIVMSG #room :" + text + "\r\n"
	in := &receivers{done: make(chan struct{}, 1)}
	for _, c := range clients[1:] {
		go in.read(c.conn)
	}
	bare, out := pairs(b, members)
	bareIn := &receivers{done: make(chan struct{}, 1)}
	for _, c := range out {
		go bareIn.read(c)
	}
	raw := []byte(line)
	message := []byte("PRIVMSG #room :" + text + "\r\n")
	ours, theirs := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		for range round {
			in.expect(members * len(line))
			if _, err := clients[0].conn.Write(message); err != nil {
				b.Fatal(err)
			}
			in.wait()
		}
		middle := time.Now()
		for range round {
			bareIn.expect(members * len(line))
			for _, c := range bare {
				if _, err := c.Write(raw); err != nil {
					b.Fatal(err)
				}
			}
			bareIn.wait()
		}
		ours = min(ours, middle.Sub(began))
		theirs = min(theirs, time.Since(middle))
	}
	b.ReportMetric(float64(ours.Microseconds())/round, "µs/message")
	b.ReportMetric(float64(theirs.Microseconds())/round, "µs/200writes")
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
}

// pairs returns the two ends of n connections over loopback.
func pairs(tb testing.TB, n int) (servers, clients []net.Conn) {
	tb.Helper()
	ln, err := new(net.ListenConfig).Listen(tb.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	for range n {
		c, err := new(net.Dialer).DialContext(tb.Context(), "tcp4", ln.Addr().String())
		if err != nil {
			tb.Fatal(err)
		}
		s, err := ln.Accept()
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _, _ = c.Close(), s.Close() })
		servers, clients = append(servers, s), append(clients, c)
	}
	return servers, clients
}

// fill puts n users without a connection into a channel.
func fill(h *hall, s *Server, channel string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range n {
		x := &session{server: s, out: newOutbox(), kicked: make(chan struct{})}
		u := &user{session: x, field: "u", host: "192.0.2.1", mask: "0123456789ab.masked"}
		u.rename(fmt.Sprintf("member%d", i))
		x.conn = new(netserve.Conn)    // of no address
		x.user, x.out.closed = u, true // takes all and keeps nothing
		h.enter(u)
		h.join(u, channel, time.Time{})
	}
}

// BenchmarkJoin joins rooms and leaves them again: ten times the members may cost ten
// times as much.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := build(b, nil)
			f.server.live.Load().MaxMembers = n + 1
			h := f.server.hall
			fill(h, f.server, "#room", n)
			x := actor(f.server, "Joiner")
			join, part := message{command: "JOIN", params: []string{"#room"}}, message{command: "PART", params: []string{"#room", "x"}}
			b.ReportAllocs()
			for b.Loop() {
				_ = h.act(x, func() error { return x.join(b.Context(), &join) })
				_ = h.act(x, func() error { return x.part(b.Context(), &part) })
			}
		})
	}
}

// actor returns a session without a connection that is signed on.
func actor(s *Server, nick string) *session {
	s.hall.mu.Lock()
	defer s.hall.mu.Unlock()
	x := &session{server: s, conn: new(netserve.Conn), out: newOutbox(), kicked: make(chan struct{}), opened: true}
	u := &user{session: x, field: "u", host: "192.0.2.1", mask: "0123456789ab.masked"}
	u.rename(nick)
	x.user, x.out.closed = u, true
	s.hall.enter(u)
	return x
}

// BenchmarkCommand carries lines out, without the network.
func BenchmarkCommand(b *testing.B) {
	for _, line := range []string{
		"PRIVMSG #room :hello world", "UTM #room :GML 127.0.0.1:7777", `SETCKEY #room Actor :\b_flags\sh`, `GETCKEY #room member1 123 0 :\username\b_flags`, "PONG :1", "MODE #room",
	} {
		b.Run(strings.ReplaceAll(line, " ", "_"), func(b *testing.B) {
			f := build(b, nil)
			fill(f.server.hall, f.server, "#room", 20)
			x := actor(f.server, "Actor")
			f.server.hall.join(x.user, "#room", time.Time{})
			raw := []byte(line)
			b.ReportAllocs()
			for b.Loop() {
				if err := x.handle(b.Context(), raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMemory reports the memory of an idle member of a room in the heap and in
// stacks: connection, goroutine and all, without the connection at the other end.
func BenchmarkMemory(b *testing.B) {
	const n = 4000
	for b.Loop() {
		f := start(b, nil)
		memory := func() (heap, stacks uint64) {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc, m.StackInuse
		}
		first, _ := memory()
		pairs(b, n)
		heap, stacks := memory()
		otherEnd := (heap - first) / 2
		routines := runtime.NumGoroutine()
		conns := make([]net.Conn, n)
		for i := range conns {
			c := f.connect()
			c.encrypt()
			c.signOn(fmt.Sprintf("n%d", i))
			c.join(fmt.Sprintf("#room%d", i/50))
			c.ask(fmt.Sprintf(`SETCKEY #room%d n%d :\b_flags\s`, i/50, i))
			conns[i] = c.conn
		}
		heapNow, stacksNow := memory()
		b.ReportMetric(float64(heapNow-heap-otherEnd)/n/1024, "KiB-heap/member")
		b.ReportMetric(float64(stacksNow-stacks)/n/1024, "KiB-stack/member")
		b.ReportMetric(float64(runtime.NumGoroutine()-routines)/n, "goroutines/member")
		for _, c := range conns {
			_ = c.Close()
		}
		f.stop()
	}
}
