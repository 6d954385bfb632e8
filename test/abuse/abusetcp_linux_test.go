package abuse

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

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/master/legacylist"
	"github.com/respawnd/respawnd/test/rig"
)

// dialFrom connects from one of the addresses of this machine: all of 127.0.0.0/8
// are.
func dialFrom(ctx context.Context, source netip.Addr, to netip.AddrPort) (*net.TCPConn, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), Timeout: rig.Hang}
	c, err := d.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), c.SetDeadline(time.Now().Add(rig.Hang))
}

// The kinds of abuse. Each gets an open connection, which is closed afterwards.
var nuisances = map[string]func(a rig.Abused, c *net.TCPConn) error{
	"silent": func(rig.Abused, *net.TCPConn) error { return nil },
	"reset":  func(_ rig.Abused, c *net.TCPConn) error { return c.SetLinger(0) },
	"in the half": func(a rig.Abused, c *net.TCPConn) error {
		_, err := c.Write(a.Question[:len(a.Question)/2])
		return err
	},
	// A client that closes its sending direction is answered, and then
	// disconnected.
	"half closed": func(a rig.Abused, c *net.TCPConn) error {
		if _, err := c.Write(a.Question); err != nil {
			return err
		}
		if err := c.CloseWrite(); err != nil {
			return notHanging(err) // it was disconnected before it was done
		}
		return drain(c)
	},
	"half closed and silent": func(_ rig.Abused, c *net.TCPConn) error {
		if err := c.CloseWrite(); err != nil {
			return notHanging(err)
		}
		return drain(c)
	},
	"huge": func(a rig.Abused, c *net.TCPConn) error {
		const most = 64 << 20
		for sent := 0; sent < most; {
			n, err := c.Write(a.Endless)
			if sent += n; err != nil {
				return notHanging(err)
			}
		}
		return fmt.Errorf("%d bytes were taken", most)
	},
	// Questions without end whose answers are never read.
	"pipelined": func(a rig.Abused, c *net.TCPConn) error {
		if err := c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			return err
		}
		all := bytes.Repeat(a.Question, 200)
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

// After any abuse over TCP all resources of the clients are released once they
// have disconnected.
func TestNuisancesOverTCPLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	c := rig.StartChild(t, t.TempDir(), "GOGC=10", // so that memory in use is close to memory needed
		rig.Variable("serverbrowse.first_byte", "1s"), rig.Variable("gpcm.login_time", "5s"), rig.Variable("gpsp.idle", "5s"),
		rig.Variable("peerchat.login_time", "5s"))
	rig.Register(t, &c.Running, "hostname", "Here")
	round := func(n byte) {
		var doing sync.WaitGroup
		for i, a := range rig.AbusedServices(t) {
			for name, annoy := range nuisances {
				for j := range byte(2) {
					source := netip.AddrFrom4([4]byte{127, 10 + n, byte(i), 1 + j})
					doing.Go(func() {
						conn, err := dialFrom(t.Context(), source, c.Address[a.Service])
						if err != nil {
							t.Errorf("%s: %v", a.Service, err)
							return
						}
						defer func() { _ = conn.Close() }()
						if err := annoy(a, conn); err != nil {
							t.Errorf("%s: %s: %v", a.Service, name, err)
						}
					})
				}
			}
		}
		doing.Wait()
	}
	settled := func() (u rig.Footprint) {
		rig.Eventually(t, "the end of all connections", func() bool {
			u = c.Footprint()
			return u.Conns == 0
		})
		return u
	}
	round(0)
	before := settled()
	for n := range byte(3) {
		round(1 + n)
	}
	const spareFiles, spareGoroutines, spareHeap = 4, 8, 8 << 20
	var after rig.Footprint
	rig.Eventually(t, "the use of as little as before", func() bool {
		after = settled()
		return after.Files <= before.Files+spareFiles && after.Goroutines <= before.Goroutines+spareGoroutines && after.Heap <= before.Heap+spareHeap
	})
	t.Logf("before %+v, after %+v", before, after)
	wantListedIn(t, &c.Running)
	_ = c.Process.Signal(syscall.SIGTERM)
	<-c.Ended
	if code := c.State.ExitCode(); code != 0 {
		t.Errorf("exit code %d after all that, want 0", code)
	}
	for _, e := range c.Log.Entries {
		if level := e.Text("level"); level == "error" || level == "warn" && !strings.Contains(e.Text("message"), "DNS") && !rig.Message(daemon.TooFewFiles)(e) {
			t.Errorf("the log says %v", e)
		}
	}
}

// wantListedIn fails unless one server is listed.
func wantListedIn(t testing.TB, d *rig.Running) {
	t.Helper()
	if got := rig.List(t, d, "", `\hostname`); len(got) != 1 {
		t.Errorf("%d servers are listed, want 1", len(got))
	}
}

// Services disconnect clients that never send anything.
func TestSilentClientsAreLetGo(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("serverbrowse.first_byte", "1s"), rig.Variable("legacylist.request_time", "1s"),
		rig.Variable("gpcm.login_time", "5s"), rig.Variable("gpsp.idle", "5s"), rig.Variable("peerchat.login_time", "5s"), rig.Variable("gstats.login_time", "5s"))
	var waiting sync.WaitGroup
	for _, service := range []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "fesl", "theater", "peerchat", "gstats", "web", "admin", "dns"} {
		waiting.Go(func() {
			c, err := dialFrom(t.Context(), rig.Home, d.Address[service])
			if err != nil {
				t.Errorf("%s: %v", service, err)
				return
			}
			defer func() { _ = c.Close() }()
			if err := drain(c); err != nil {
				t.Errorf("%s: a silent client is kept for %v", service, rig.Hang)
			}
		})
	}
	waiting.Wait()
	d.Stop()
}

// A browser that has its list and sends nothing more is disconnected after the
// configured time.
func TestQuietBrowsersAreLetGo(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("serverbrowse.idle", "5s"))
	c, err := dialFrom(t.Context(), rig.Home, d.Address["serverbrowse"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write(rig.AbusedServices(t)[0].Question); err != nil {
		t.Fatal(err)
	}
	if err := drain(c); err != nil {
		t.Errorf("a quiet browser is kept for %v", rig.Hang)
	}
	if got := rig.Metric(t, d, `respawnd_dropped_total{reason="idle_timeout",service="serverbrowse"}`); got != "1" {
		t.Errorf("%s browsers are counted as quiet, want 1", got)
	}
	d.Stop()
}

// A client of the old list that never requests one is disconnected after the
// configured time, at any stage of the exchange.
func TestSilentLegacyListClientsAreClosed(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("legacylist.request_time", "5s")) // longer than a busy machine takes to write
	const hello = `\gamename\gmtest\gamever\1\location\0\validate\AAAAAAAA\final\`
	texts := []string{"", `\`, hello[:len(hello)/2], hello, hello + `\list\cmp`, `\list\`}
	var waiting sync.WaitGroup
	for _, text := range texts {
		waiting.Go(func() {
			c, err := dialFrom(t.Context(), rig.Home, d.Address["legacylist"])
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
	if got := rig.Metric(t, d, `respawnd_dropped_total{reason="request_timeout",service="legacylist"}`); got != strconv.Itoa(len(texts)) {
		t.Errorf("%s clients are counted as too slow, want %d", got, len(texts))
	}
	d.Stop()
}

// The connections of an address are limited as configured, without effect on
// those of other addresses.
func TestConnectionsPerAddressAreBounded(t *testing.T) {
	t.Parallel()
	const most = 3
	services := []string{"serverbrowse", "legacylist", "gpcm", "gpsp", "fesl", "theater", "peerchat", "gstats", "web"}
	vars := []string{rig.Variable("web.request_time", "1m")} // longer than a busy machine takes to count
	for _, s := range services {
		vars = append(vars, rig.Variable(s+".max_per_addr", strconv.Itoa(most)))
	}
	d := rig.Start(t, t.TempDir(), vars...)
	for i, service := range services {
		greedy, neighbour := netip.AddrFrom4([4]byte{127, 20, byte(i), 1}), netip.AddrFrom4([4]byte{127, 20, byte(i), 2})
		open := func(from netip.Addr) *net.TCPConn {
			c, err := dialFrom(t.Context(), from, d.Address[service])
			if err != nil {
				t.Fatalf("%s: %v", service, err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		refused := `respawnd_connections_refused_total{reason="per_address",service="` + service + `"}`
		wantOpen := func(n int) {
			rig.Eventually(t, fmt.Sprintf("%s: %d connections", service, n), func() bool { return rig.Metric(t, d, rig.OpenConnections(service)) == strconv.Itoa(n) })
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
		if got := rig.Metric(t, d, refused); got != "1" {
			t.Errorf("%s: %s connections refused, want 1", service, got)
		}
	}
	d.Stop()
}
