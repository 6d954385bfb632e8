package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/daemon"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/utmaster"
)

// abused is a service over TCP, with data that clients send.
type abused struct {
	service  string
	question []byte // one that is answered
	endless  []byte // an endless request, sent until the connection is closed
}

// abusedServices are all services over TCP.
func abusedServices(t testing.TB) []abused {
	request := serverbrowse.ListRequest{
		Protocol: 1, Encoding: 3, For: testGame, From: testGame, Challenge: [8]byte([]byte("abcdefgh")), Fields: `\hostname`,
	}
	list, err := request.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	hello := utmaster.Hello{Word: utWord + "CLIENT", Version: utVersion, Language: "int"}
	epic := append(hello.AppendTo(nil), 1, 0, 0, 0, 0) // an empty digest
	epic = utmaster.AppendQuery(epic, nil)
	rubbish := bytes.Repeat([]byte("x"), 64<<10)
	http := "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	header := append([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nX: "), rubbish...)
	return []abused{
		{"serverbrowse", list, append([]byte{0xFF, 0xFF}, rubbish...)},
		{"legacylist", []byte(`\gamename\gmtest\gamever\1\location\0\validate\AAAAAAAA\final\\queryid\1.1\list\\gamename\gmtest\final\`), rubbish},
		{"gpcm", []byte(`\ka\\final\\login\\challenge\x\uniquenick\x\userid\0\response\x\id\1\final\`), rubbish},
		{"gpsp", []byte(`\valid\\email\unknown@example.org\gamename\gmtest\final\`), rubbish},
		{"peerchat", []byte("USRIP\r\nUSER x 127.0.0.1 peerchat.gamespy.com :x\r\nNICK x\r\nJOIN #GSP!gmtest\r\nGETCKEY #GSP!gmtest * 1 0 :\\username\r\n"), rubbish},
		{"gstats", []byte("a request before the proof of a game" + `\final\`), rubbish},
		{"utmaster", epic, append([]byte{0, 0x10, 0, 0}, rubbish...)},
		{"web", []byte(http), header},
		{"admin", []byte(http), header},
		{"dns", append([]byte{0, 17}, "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"...), append([]byte{0xFF, 0xFF}, rubbish...)},
	}
}

// dialFrom connects from one of the addresses of this machine: all of 127.0.0.0/8
// are.
func dialFrom(ctx context.Context, source netip.Addr, to netip.AddrPort) (*net.TCPConn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), Timeout: hang}
	c, err := d.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), c.SetDeadline(time.Now().Add(hang))
}

// The kinds of abuse. Each gets an open connection, which is closed afterwards.
var nuisances = map[string]func(a abused, c *net.TCPConn) error{
	"silent":      func(abused, *net.TCPConn) error { return nil },
	"reset":       func(_ abused, c *net.TCPConn) error { return c.SetLinger(0) },
	"in the half": func(a abused, c *net.TCPConn) error { _, err := c.Write(a.question[:len(a.question)/2]); return err },
	// A client that closes its sending direction is answered, and then
	// disconnected.
	"half closed": func(a abused, c *net.TCPConn) error {
		if _, err := c.Write(a.question); err != nil {
			return err
		}
		if err := c.CloseWrite(); err != nil {
			return notHanging(err) // it was disconnected before it was done
		}
		return drain(c)
	},
	"half closed and silent": func(_ abused, c *net.TCPConn) error {
		if err := c.CloseWrite(); err != nil {
			return notHanging(err)
		}
		return drain(c)
	},
	"huge": func(a abused, c *net.TCPConn) error {
		const most = 64 << 20
		for sent := 0; sent < most; {
			n, err := c.Write(a.endless)
			if sent += n; err != nil {
				return notHanging(err)
			}
		}
		return fmt.Errorf("%d bytes were taken", most)
	},
	// Questions without end whose answers are never read.
	"pipelined": func(a abused, c *net.TCPConn) error {
		if err := c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			return err
		}
		all := bytes.Repeat(a.question, 200)
		_, _ = c.Write(all) // refused half-way or not
		return nil
	},
}

// drain reads until the connection is closed by the other side.
func drain(c *net.TCPConn) error {
	_, err := io.Copy(io.Discard, c)
	return notHanging(err)
}

// notHanging returns err if it is a timeout. A connection that the other side
// closed is not an error.
func notHanging(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

// footprint is the resource use of a process.
type footprint struct {
	files, goroutines int
	conns             int // of the services that count them
	heap              int // bytes
}

func (c *child) footprint() footprint {
	c.t.Helper()
	const files, goroutines, heap = "process_open_fds", "go_goroutines", "go_memstats_heap_alloc_bytes"
	samples := metrics(c.t, &c.running, files, goroutines, heap, "respawnd_connections")
	number := func(sample string) int {
		v, err := strconv.ParseFloat(samples[sample], 64)
		if err != nil {
			c.t.Fatalf("%s: %v", sample, err)
		}
		return int(v)
	}
	u := footprint{files: number(files), goroutines: number(goroutines), heap: number(heap)}
	for _, a := range abusedServices(c.t) {
		if a.service != "admin" {
			u.conns += number(openConnections(a.service))
		}
	}
	return u
}

// After any abuse over TCP all resources of the clients are released once they
// have disconnected.
func TestNuisancesOverTCPLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir(), "GOGC=10", // so that memory in use is close to memory needed
		variable("serverbrowse.first_byte", "1s"), variable("gpcm.login_time", "5s"), variable("gpsp.idle", "5s"),
		variable("peerchat.login_time", "5s"))
	register(t, &c.running, "hostname", "Here")
	round := func(n byte) {
		var doing sync.WaitGroup
		for i, a := range abusedServices(t) {
			for name, annoy := range nuisances {
				for j := range byte(2) {
					source := netip.AddrFrom4([4]byte{127, 10 + n, byte(i), 1 + j})
					doing.Go(func() {
						conn, err := dialFrom(t.Context(), source, c.address[a.service])
						if err != nil {
							t.Errorf("%s: %v", a.service, err)
							return
						}
						defer func() { _ = conn.Close() }()
						if err := annoy(a, conn); err != nil {
							t.Errorf("%s: %s: %v", a.service, name, err)
						}
					})
				}
			}
		}
		doing.Wait()
	}
	settled := func() (u footprint) {
		eventually(t, "the end of all connections", func() bool {
			u = c.footprint()
			return u.conns == 0
		})
		return u
	}
	round(0)
	before := settled()
	for n := range byte(3) {
		round(1 + n)
	}
	const spareFiles, spareGoroutines, spareHeap = 4, 8, 8 << 20
	var after footprint
	eventually(t, "the use of as little as before", func() bool {
		after = settled()
		return after.files <= before.files+spareFiles && after.goroutines <= before.goroutines+spareGoroutines && after.heap <= before.heap+spareHeap
	})
	t.Logf("before %+v, after %+v", before, after)
	wantListedIn(t, &c.running)
	_ = c.process.Signal(syscall.SIGTERM)
	<-c.ended
	if code := c.state.ExitCode(); code != 0 {
		t.Errorf("exit code %d after all that, want 0", code)
	}
	for _, e := range c.log.entries {
		if level := e.text("level"); level == "error" || level == "warn" && !strings.Contains(e.text("message"), "DNS") && !message(daemon.TooFewFiles)(e) {
			t.Errorf("the log says %v", e)
		}
	}
}

// wantListedIn fails unless one server is listed.
func wantListedIn(t testing.TB, d *running) {
	t.Helper()
	if got := list(t, d, "", `\hostname`); len(got) != 1 {
		t.Errorf("%d servers are listed, want 1", len(got))
	}
}

// Services disconnect clients that never send anything.
func TestSilentClientsAreLetGo(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("serverbrowse.first_byte", "1s"), variable("legacylist.request_time", "1s"),
		variable("gpcm.login_time", "5s"), variable("gpsp.idle", "5s"), variable("peerchat.login_time", "5s"), variable("gstats.login_time", "5s"))
	var waiting sync.WaitGroup
	for _, service := range []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "gstats", "web", "admin", "dns"} {
		waiting.Go(func() {
			c, err := dialFrom(t.Context(), home, d.address[service])
			if err != nil {
				t.Errorf("%s: %v", service, err)
				return
			}
			defer func() { _ = c.Close() }()
			if err := drain(c); err != nil {
				t.Errorf("%s: a silent client is kept for %v", service, hang)
			}
		})
	}
	waiting.Wait()
	d.stop()
}

// A browser that has its list and sends nothing more is disconnected after the
// configured time.
func TestQuietBrowsersAreLetGo(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("serverbrowse.idle", "5s"))
	c, err := dialFrom(t.Context(), home, d.address["serverbrowse"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write(abusedServices(t)[0].question); err != nil {
		t.Fatal(err)
	}
	if err := drain(c); err != nil {
		t.Errorf("a quiet browser is kept for %v", hang)
	}
	if got := metric(t, d, `respawnd_dropped_total{reason="idle_timeout",service="serverbrowse"}`); got != "1" {
		t.Errorf("%s browsers are counted as quiet, want 1", got)
	}
	d.stop()
}

// A client of the old list that never requests one is disconnected after the
// configured time, at any stage of the exchange.
func TestSilentLegacyListClientsAreClosed(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("legacylist.request_time", "5s")) // longer than a busy machine takes to write
	const hello = `\gamename\gmtest\gamever\1\location\0\validate\AAAAAAAA\final\`
	texts := []string{"", `\`, hello[:len(hello)/2], hello, hello + `\list\cmp`, `\list\`}
	var waiting sync.WaitGroup
	for _, text := range texts {
		waiting.Go(func() {
			c, err := dialFrom(t.Context(), home, d.address["legacylist"])
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			if _, err := io.WriteString(c, text); err != nil {
				t.Error(err)
			}
			if said, err := io.ReadAll(c); err != nil || len(said) != legacylist.GreetingLen {
				t.Errorf("%q: the answer is %q, %v; want the greeting and the end", text, said, err)
			}
		})
	}
	waiting.Wait()
	if got := metric(t, d, `respawnd_dropped_total{reason="request_timeout",service="legacylist"}`); got != strconv.Itoa(len(texts)) {
		t.Errorf("%s clients are counted as too slow, want %d", got, len(texts))
	}
	d.stop()
}

// The connections of an address are limited as configured, without effect on
// those of other addresses.
func TestConnectionsPerAddressAreBounded(t *testing.T) {
	t.Parallel()
	const most = 3
	services := []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "peerchat", "gstats", "web"}
	var vars []string
	for _, s := range services {
		vars = append(vars, variable(s+".max_per_addr", strconv.Itoa(most)))
	}
	d := start(t, t.TempDir(), vars...)
	for i, service := range services {
		greedy, neighbour := netip.AddrFrom4([4]byte{127, 20, byte(i), 1}), netip.AddrFrom4([4]byte{127, 20, byte(i), 2})
		open := func(from netip.Addr) *net.TCPConn {
			c, err := dialFrom(t.Context(), from, d.address[service])
			if err != nil {
				t.Fatalf("%s: %v", service, err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		refused := `respawnd_connections_refused_total{reason="per_address",service="` + service + `"}`
		wantOpen := func(n int) {
			eventually(t, fmt.Sprintf("%s: %d connections", service, n), func() bool { return metric(t, d, openConnections(service)) == strconv.Itoa(n) })
		}
		first := open(greedy)
		for range most - 1 {
			open(greedy)
		}
		wantOpen(most)
		if err := drain(open(greedy)); err != nil {
			t.Errorf("%s: connection %d of an address is not closed", service, most+1)
		}
		open(neighbour)
		wantOpen(most + 1)
		_ = first.Close()
		wantOpen(most)
		open(greedy)
		wantOpen(most + 1)
		if got := metric(t, d, refused); got != "1" {
			t.Errorf("%s: %s connections refused, want 1", service, got)
		}
	}
	d.stop()
}
