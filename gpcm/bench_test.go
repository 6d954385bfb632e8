package gpcm

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// scripted is a connection without a network: it delivers its script, and then nothing
// until it is closed, or the end of the stream.
type scripted struct {
	net.Conn
	say    io.Reader
	end    bool     // after say
	wrote  chan int // how much each Write wrote; nil: not counted
	closed chan struct{}
	once   sync.Once
}

func newScripted(text string, end bool) *scripted {
	return &scripted{say: strings.NewReader(text), end: end, closed: make(chan struct{})}
}

func (c *scripted) Read(p []byte) (int, error) {
	if n, _ := c.say.Read(p); n > 0 {
		return n, nil
	}
	if !c.end {
		<-c.closed
	}
	return 0, io.EOF
}

func (c *scripted) Write(p []byte) (int, error) {
	if c.wrote != nil {
		c.wrote <- len(p)
	}
	return len(p), nil
}

func (c *scripted) Close() error                     { c.once.Do(func() { close(c.closed) }); return nil }
func (c *scripted) SetReadDeadline(time.Time) error  { return nil }
func (c *scripted) SetWriteDeadline(time.Time) error { return nil }
func (c *scripted) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (c *scripted) LocalAddr() net.Addr              { return &net.TCPAddr{} }

// grabber hands out the connections that it is to serve.
type grabber chan *netserve.Conn

func (g grabber) ServeConn(ctx context.Context, c *netserve.Conn) {
	g <- c
	<-ctx.Done()
}

// target is a session without a reading goroutine.
type target struct {
	*session
	wrote chan int
}

// sessions returns a session for each profile, signed in, with nothing to write.
func (f *fixture) sessions(people ...storage.Profile) []target {
	f.t.Helper()
	ln, grab := nettest.NewPipes(), make(grabber)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- netserve.ServeConns(ctx, ln, grab, netserve.ConnOptions{Rate: -1, MaxPerAddr: -1}) }()
	var all []target
	f.t.Cleanup(func() {
		for _, x := range all {
			x.stopWriting(nil)
		}
		cancel()
		if err := <-done; err != nil {
			f.t.Errorf("ServeConns: %v", err)
		}
	})
	for _, p := range people {
		c := newScripted("", true)
		c.wrote = make(chan int, 1000)
		if err := ln.Add(c); err != nil {
			f.t.Fatal(err)
		}
		x := &session{
			server: f.server, conn: <-grab, out: newOutbox(), kicked: make(chan struct{}), signedIn: true,
			who:    who{user: p.User, profile: p.ID, key: newSessionKey(), revision: 63, namespace: 1},
			status: presence.Status{State: presence.Online, Text: textOnline},
			pace:   rate.NewLimiter(rate.Inf, 0),
		}
		if _, err := f.hub.SignIn(context.Background(), x, presence.KickProfile, x.status); err != nil {
			f.t.Fatal(err)
		}
		x.out.take(nil)
		x.startWriting(ctx)
		all = append(all, target{x, c.wrote})
	}
	for _, x := range all { // sessions that were added later
		x.out.waitHalf(nil)
		x.writer.Wait()
		for len(x.wrote) > 0 {
			<-x.wrote
		}
	}
	return all
}

// relay is a message on its way from one client to the connection of another.
func relay(t testing.TB, from, to target, message []byte) {
	if err := from.handle(context.Background(), message); err != nil {
		t.Fatal(err)
	}
	<-to.wrote
}

func relayFixture(t testing.TB) (from, to target, message []byte) {
	f := build(t, nil)
	a, b := f.register("Ann"), f.register("Ben")
	f.befriend(a.ID, b.ID)
	both := f.sessions(a, b)
	return both[0], both[1], fmt.Appendf(nil, `\bm\1\sesskey\%d\t\%d\msg\%s`, both[0].key, b.ID, strings.Repeat("hello ", 20))
}

func BenchmarkRelay(b *testing.B) {
	from, to, message := relayFixture(b)
	b.ReportAllocs()
	for b.Loop() {
		relay(b, from, to, message)
	}
}

func TestRelayAllocatesLittle(t *testing.T) {
	from, to, message := relayFixture(t)
	if n := testing.AllocsPerRun(100, func() { relay(t, from, to, message) }); n > 10 {
		t.Errorf("a message costs %v allocations, want 10 at most", n)
	}
}

func TestPanicOfTheWriterEndsOneSession(t *testing.T) {
	from, to, message := relayFixture(t)
	to.server.opt.Accounts = nil // asked for the next ticket
	to.writer.Wait()
	to.renewed = time.Time{}
	if err := from.handle(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	<-to.kicked
	to.writer.Wait()
}

// BenchmarkFanOut is a new status on its way to 100 buddies.
func BenchmarkFanOut(b *testing.B) {
	const buddies = 100
	f := build(b, nil)
	people := []storage.Profile{f.register("Star")}
	for n := range buddies {
		people = append(people, f.register(fmt.Sprintf("Fan%d", n)))
		if err := f.store.AddBuddy(b.Context(), people[n+1].ID, people[0].ID); err != nil {
			b.Fatal(err)
		}
	}
	all := f.sessions(people...)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		status := fmt.Appendf(nil, `\status\2\sesskey\%d\statstring\%d\locstring\here`, all[0].key, n)
		if err := all[0].handle(b.Context(), status); err != nil {
			b.Fatal(err)
		}
		for _, x := range all[1:] {
			<-x.wrote
		}
	}
}

// BenchmarkLogin is whole connections without a network: greeting, login with
// everything it reads, logout.
func BenchmarkLogin(b *testing.B) {
	f := build(b, nil)
	const challenge = "ABCDEFGHIJ"
	f.server.newChallenge = func() string { return challenge }
	var logins []string
	for n := range 1000 {
		nick := fmt.Sprintf("Player%d", n)
		f.register(nick)
		logins = append(logins, fmt.Sprintf(
			`\login\\challenge\%s\uniquenick\%s\partnerid\0\response\%s\productid\11\gamename\gmtest\namespaceid\1\sdkrevision\11\id\1\final\`,
			clientChallenge, nick, response(testPassword, nick, clientChallenge, challenge)))
	}
	ln := nettest.NewPipes()
	f.serve(ln)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			c := newScripted(logins[n%len(logins)], true)
			if err := ln.Add(c); err != nil {
				f.t.Fatal(err)
			}
			<-c.closed
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "logins/s")
}

// BenchmarkLoginPipe is BenchmarkLogin with a reading client, one at a time.
func BenchmarkLoginPipe(b *testing.B) {
	f := startPipe(b, nil)
	ann := f.register("Ann")
	b.ReportAllocs()
	for b.Loop() {
		p := f.connect()
		p.login(ann.Nick, testPassword, `\sdkrevision\0`)
		p.want(`\lc\2\`)
		_ = p.conn.Close()
	}
}

// memory returns the size of heap and stacks in bytes, once nothing more can be freed: stacks shrink
// step by step, and only those of sessions that wait already.
func memory() int {
	var m runtime.MemStats
	least := math.MaxInt
	for unchanged := 0; unchanged < 5; {
		runtime.GC()
		runtime.ReadMemStats(&m)
		if now := int(m.HeapInuse + m.StackInuse); now < least {
			least, unchanged = now, 0
		} else {
			unchanged++
		}
	}
	return least
}

// idleSessions signs in n players over loopback sockets and returns the memory that one
// takes, in bytes, including the client's end.
func idleSessions(t testing.TB, n int) int {
	f := start(t, func(o *Options) { o.Log = zerolog.Nop() })
	const warm = 50 // tables of limits, buffers and what is made at the first use are not of these
	people := make([]storage.Profile, warm+n)
	for i := range people {
		people[i] = f.register(fmt.Sprintf("Idle%d", i))
	}
	conns := make([]net.Conn, len(people))
	before := 0
	for i, who := range people {
		if i == warm {
			before = memory()
		}
		p := f.connect()
		p.login(who.Nick, testPassword, `\productid\11\gamename\gmtest\namespaceid\1\sdkrevision\11`)
		p.welcome(11)
		conns[i] = p.conn
	}
	after := memory()
	if got := f.hub.Count(); got != len(people) {
		t.Fatalf("%d sessions, want %d", got, len(people))
	}
	runtime.KeepAlive(conns)
	return (after - before) / n
}

func TestIdleSessionsAreSmall(t *testing.T) {
	const (
		sessions = 20_000
		limit    = 300 << 20
	)
	racetest.Skip(t, "the detector makes stacks larger than they are in the program")
	each := idleSessions(t, 400)
	if total := each * sessions; total > limit {
		t.Errorf("%d idle sessions take %d MiB (%d bytes each), want %d MiB at most", sessions, total>>20, each, limit>>20)
	}
	t.Logf("%d bytes each with the client's end, %d sessions take %d MiB", each, sessions, each*sessions>>20)
}

func BenchmarkIdleSessions(b *testing.B) {
	for b.Loop() {
		each := idleSessions(b, 5000)
		b.ReportMetric(float64(each), "bytes/session")
	}
}
