package gstats

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

func TestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		time.Sleep(48 * time.Hour)
		f.book.mu.Lock()
		defer f.book.mu.Unlock()
		if n := len(f.book.swept); n < 20 || n > 48 {
			t.Errorf("swept %d times in two days", n)
		}
	})
}

// TestDeadlines lets the time pass that a client may be silent.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	pipe := func(name string, run func(t *testing.T, f *fixture)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { run(t, startPipe(t, nil)) })
		})
	}
	elapsed := func(t *testing.T, began time.Time, want time.Duration) {
		t.Helper()
		if d := time.Since(began); d < want || d > want+time.Second {
			t.Errorf("after %v, want %v", d, want)
		}
	}
	pipe("no proof", func(t *testing.T, f *fixture) {
		began, c := time.Now(), f.connect()
		c.closed(endedTimeout.Text())
		elapsed(t, began, 30*time.Second)
	})
	pipe("half a proof", func(t *testing.T, f *fixture) {
		began, c := time.Now(), f.connect()
		c.raw([]byte("x"))
		c.closed(endedTimeout.Text())
		elapsed(t, began, 30*time.Second)
	})
	pipe("keepalives", func(t *testing.T, f *fixture) {
		c, began := f.game(), time.Now()
		for i := range 80 { // 79 are sent, the idle time has passed then
			if i < 79 {
				if m := c.next(); m != `\ka\` {
					t.Fatalf("%q, want a keepalive", m)
				}
				elapsed(t, began, time.Duration(i+1)*90*time.Second)
			}
		}
		c.closed(endedSilent.Text())
		elapsed(t, began, 2*time.Hour)
	})
	pipe("half a message", func(t *testing.T, f *fixture) {
		c, began := f.game(), time.Now()
		var sender sync.WaitGroup
		sender.Go(func() { // a byte in a second
			for {
				if _, err := c.conn.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		c.closed(endedUnfinished.Text())
		elapsed(t, began, 2*time.Minute)
		_ = c.Close()
		sender.Wait()
	})
	pipe("one after the other", func(t *testing.T, f *fixture) { // always with half of the next
		c := f.game()
		ka := sealed(`\ka\`)
		c.raw([]byte(ka[:3]))
		for range 10 {
			time.Sleep(time.Minute)
			c.raw([]byte(ka[3:] + ka[:3]))
			if m := c.next(); m != `\ka\` {
				t.Fatalf("answer %q", m)
			}
		}
	})
	pipe("length that lies", func(t *testing.T, f *fixture) {
		c := f.player()
		began := time.Now()
		c.want(`\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\1\length\60\data\short`, `\setpdr\0\lid\1\pid\100001\mod\0`)
		elapsed(t, began, doubtTime)
		c.want(`\ka\`, `\ka\`)
	})
}

// A client that does not read is disconnected, and holds nothing but its answers.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		c := f.player()
		id := blockOfTest(firstPlayer, 3, 0)
		f.book.blocks[id] = storage.StatBlock{StatBlockID: id, Data: make([]byte, 60_000), Modified: f.book.now}
		began := time.Now()
		get := sealed(`\getpd\\pid\100001\ptype\3\dindex\0\keys\\lid\1`)
		for {
			_ = c.conn.SetWriteDeadline(time.Now().Add(time.Hour))
			if _, err := c.conn.Write([]byte(get)); err != nil {
				break
			}
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("disconnected after %v, want 30 seconds", d)
		}
	})
}

func TestWriteRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, func(o *Options) { o.Writes, o.WritesBurst = 2, 4 })
		c := f.player()
		const set = `\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\1\length\1\data\x`
		began := time.Now()
		for range 4 + 10 {
			c.want(set, `\setpdr\1\lid\1\pid\100001\mod\1700000123`)
		}
		if d := time.Since(began); d < 4*time.Second || d > 6*time.Second {
			t.Errorf("14 blocks are stored in %v, want 5s", d)
		}
		const more = 2*10 + 10 // the first of them wait for up to ten seconds each
		others := make([]client, more)
		for i := range others {
			others[i] = f.player()
		}
		for _, o := range others {
			o.send(set)
		}
		refused := 0
		for _, o := range others {
			if strings.HasPrefix(o.next(), `\setpdr\0\`) {
				refused++
			}
		}
		if refused == 0 || refused > 10 || f.value("respawnd_gstats_sets_total", "limited") != refused {
			t.Errorf("%d of %d blocks are refused", refused, more)
		}
	})
}

// One address may open 150 connections at once on the defaults.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	for range 150 {
		f.game()
	}
	f.server.keys.mu.Lock()
	n := len(f.server.keys.used)
	f.server.keys.mu.Unlock()
	if n != 150 {
		t.Errorf("%d connections are served, want 150", n)
	}
}

func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"Too many connections from your address. Try again in a moment.": func(o *Options) { o.MaxPerAddr = 2 },
		"The server is full.": func(o *Options) { o.MaxConns = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t, change)
			first := f.player()
			f.player()
			conn, err := f.dial()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetReadDeadline(time.Now().Add(timeout))
			got, _ := io.ReadAll(conn)
			if want := appendError(nil, name); string(got) != string(want) {
				t.Errorf("a third connection gets %q, want %q", got, want)
			}
			first.want(`\ka\`, `\ka\`)
		})
	}
}

func TestBanned(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	banned := false
	f := start(t, func(o *Options) {
		o.Banned = func(netip.Addr) bool { mu.Lock(); defer mu.Unlock(); return banned }
	})
	c := f.game()
	c.want(`\ka\`, `\ka\`)
	mu.Lock()
	banned = true
	mu.Unlock()
	c.send(`\ka\`)
	c.closed(endedBanned.Text())
	conn, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	if got, _ := io.ReadAll(conn); string(got) != string(appendError(nil, endedBanned.Text())) {
		t.Errorf("a banned client gets %q", got)
	}
}

func TestMessageSizes(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *Options) { o.MaxBlock = 2000 })
	t.Run("before the proof", func(t *testing.T) {
		c := f.connect()
		c.raw([]byte(strings.Repeat("x", maxFirst)))
		c.closed(endedTooLong.Text())
	})
	t.Run("whole", func(t *testing.T) {
		c := f.game()
		c.raw([]byte(strings.Repeat("x", maxFields+2000-len(gamespy.Final)) + gamespy.Final))
		c.want(`\ka\`, `\ka\`)
	})
	t.Run("one byte more", func(t *testing.T) {
		c := f.game()
		c.raw([]byte(strings.Repeat("x", maxFields+2000-len(gamespy.Final)+1) + gamespy.Final))
		c.closed(endedTooLong.Text())
	})
	t.Run("a length beyond all", func(t *testing.T) {
		c := f.player()
		c.want(`\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\1\length\2000000000\data\x`, `\setpdr\0\lid\1\pid\100001\mod\0`)
	})
	t.Run("no memory", func(t *testing.T) {
		g := start(t, nil)
		g.server.memory.most = 1 << 10
		c := g.game()
		c.raw([]byte(strings.Repeat("x", 6<<10)))
		c.closed(endedMemory.Text())
	})
}

// 10,000 requests at once are answered in order, without growing memory, while storage
// blocks. Not parallel: it measures the memory of the process.
func TestPipeline(t *testing.T) {
	many := 10_000
	if racetest.RaceDetector {
		many = 2500
	}
	f := start(t, func(o *Options) { o.WritesBurst = many })
	f.book.gate = make(chan struct{})
	c := f.player()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		w := strings.Builder{}
		for i := range many {
			body := `\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\` + strconv.Itoa(i) + `\length\100\data\` + strings.Repeat("x", 100)
			if i%2 == 1 {
				body = `\getpd\\pid\100001\ptype\1\dindex\1\keys\\lid\` + strconv.Itoa(i)
			}
			w.WriteString(sealed(body))
			if w.Len() > 1<<16 || i == many-1 {
				if _, err := c.conn.Write([]byte(w.String())); err != nil {
					return
				}
				w.Reset()
			}
		}
	}()
	for i := range many / 2 {
		f.book.gate <- struct{}{}
		if i == 1000 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("%d bytes more are in use", grown)
			}
		}
	}
	for i := range many {
		if m := c.next(); fieldOf(m, "lid") != strconv.Itoa(i) {
			t.Fatalf("answer %d is %q", i, m)
		}
	}
}

// The second message of the handshake is alone in its write, also if the client does not
// wait for it.
func TestHandshakeSegments(t *testing.T) {
	t.Parallel()
	f := build(t, nil)
	f.server.newChallenge = func() string { return "ABCDEFGHIJ" }
	client, server := net.Pipe()
	counted := &writes{Conn: server}
	ln := &oneConn{conns: make(chan net.Conn, 1)}
	ln.conns <- counted
	f.serve(ln)
	_ = client.SetDeadline(time.Now().Add(timeout))
	var got []byte
	buf := make([]byte, 1<<10)
	read := func(n int) {
		for len(got) < n {
			k, err := client.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, buf[:k]...)
		}
	}
	read(38)
	auth := sealed(`\auth\\gamename\gmtest\response\` + Response("HA6zkS", "ABCDEFGHIJ") + `\port\0\id\1`)
	if _, err := client.Write([]byte(auth + sealed(`\ka\`) + sealed(`\ka\`))); err != nil {
		t.Fatal(err)
	}
	all := 38 + len(appendServed(nil, 1<<30)) + 2*len(appendKeepAlive(nil))
	read(all - 9) // the key may be shorter
	_ = client.Close()
	sizes := counted.sizes()
	if len(sizes) < 3 || sizes[0] != 38 || sizes[1] >= 128 || sizes[2] != 2*len(appendKeepAlive(nil)) {
		t.Errorf("writes of %v bytes, want the greeting, the second message and the rest", sizes)
	}
}

// Answers to commands that came with the proof of a game, in one segment, are held back and in
// order: clients read the second message with one read, and ignore the rest of that read.
func TestEarlyCommands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		f.server.newChallenge = func() string { return "ABCDEFGHIJ" }
		f.server.keys.draw = func() uint64 { return 160 }
		c := f.connect()
		c.send(`\auth\\gamename\gmtest\response\`+Response("HA6zkS", "ABCDEFGHIJ")+`\port\0\id\1`,
			`\authp\\pid\100001\resp\`+Proof(testPassword, PlayerChallenge(160))+`\lid\1`,
			`\getpid\\nick\Missing\keyhash\00000000000000000000000000000000\lid\2`,
			`\getpd\\pid\100001\ptype\1\dindex\0\keys\\lid\3`, `\ka\`)
		if m := c.next(); fieldOf(m, "sesskey") != "160" {
			t.Fatalf("the second message is %q", m)
		}
		read := time.Now()
		for i, want := range []string{`\pauthr\100001`, `\getpidr\-1`, `\getpdr\1`, `\ka\`} {
			if m := c.next(); !strings.HasPrefix(m, want) {
				t.Errorf("answer %d is %q, want %q", i, m, want)
			}
			if i == 0 && time.Since(read) < loneTime {
				t.Errorf("the first answer came %v after the second message, want %v", time.Since(read), loneTime)
			}
		}
		now := time.Now()
		if c.want(`\ka\`, `\ka\`); time.Since(now) > 0 {
			t.Errorf("a later answer took %v", time.Since(now))
		}
	})
}

// writes counts the writes of a connection.
type writes struct {
	net.Conn
	mu  sync.Mutex
	all []int
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.all = append(w.all, len(p))
	w.mu.Unlock()
	return w.Conn.Write(p)
}

func (w *writes) sizes() []int { w.mu.Lock(); defer w.mu.Unlock(); return slices.Clone(w.all) }

// oneConn is a listener that accepts the connections of a channel.
type oneConn struct {
	conns chan net.Conn
	once  sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *oneConn) Close() error   { l.once.Do(func() { close(l.conns) }); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// The end of the service is announced to the clients.
func TestShutdown(t *testing.T) {
	t.Parallel()
	f := build(t, nil)
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.server.Serve(ctx, ln) }()
	f.dial = func() (net.Conn, error) { return new(net.Dialer).Dial("tcp4", ln.Addr().String()) }
	c := f.player()
	cancel()
	c.closed("The server is going down.")
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	f := start(t, nil)
	c := f.player()
	changed := f.server.opt.Config
	changed.MaxPerAddr, changed.MaxBlock = 1, 1024
	f.server.Reload(&changed)
	c.want(`\ka\`, `\ka\`)
	c.want(`\ka\`, `\ka\`)
	if c.raw([]byte(strings.Repeat("x", maxFields+1024))); f.server.live.Load().MaxBlock != 1024 {
		t.Error("max_block stays")
	}
	c.closed(endedTooLong.Text())
	conn, err := f.dial()
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// Trusted addresses have no limits of their own.
func TestTrusted(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *Options) {
		o.MaxPerAddr, o.Writes, o.WritesBurst, o.Reports, o.ReportsPerAddr = 1, 1, 1, 1, 1
		o.Trusted = netserve.AddrSet(func(a netip.Addr) bool { return a.IsLoopback() })
	})
	a, b := f.player(), f.player()
	for i := range 20 {
		a.want(fmt.Sprintf(`\setpd\\pid\100001\ptype\1\dindex\%d\kv\0\lid\1\length\1\data\x`, i), `\setpdr\1\lid\1\pid\100001\mod\1700000123`)
		if err := b.Report(int32(i), true, "a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	b.want(`\ka\`, `\ka\`)
	if n := len(f.book.reported()); n != 20 {
		t.Errorf("%d reports, want 20", n)
	}
}
