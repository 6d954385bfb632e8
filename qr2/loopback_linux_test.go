package qr2

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// The benchmarks here compare the processor time of the service with that of
// the barest UDP server there is, over real sockets. The one that is measured
// runs in a process of its own, so that the load costs it nothing.

// childMode tells the child process what to be: "echo", or the number of listed
// servers and the port that they send from.
const childMode = "RESPAWND_QR2_TEST_LOOPBACK"

// loopbackHost is the address of the i-th server: all of 127.0.0.0/8 is local.
func loopbackHost(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, 1 + byte(i>>16), byte(i >> 8), byte(i)})
}

// TestLoopbackServer is the measured process.
func TestLoopbackServer(t *testing.T) {
	mode := os.Getenv(childMode)
	if mode == "" {
		t.Skip("it is the child process of BenchmarkLoopback")
	}
	if mode == "echo" {
		echo(t)
		return
	}
	var n int
	var port uint16
	if _, err := fmt.Sscanf(mode, "%d %d", &n, &port); err != nil {
		t.Fatal(err)
	}
	conn := listen(t)
	f := newFleet(t, n, func(i int) netip.AddrPort { return netip.AddrPortFrom(loopbackHost(i), port) }, conn.LocalAddr().Addr())
	f.packets, f.alive = nil, nil
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx, conn, nil) }()
	report(t, conn.LocalAddr())
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// echo answers every datagram with 7 bytes.
func echo(t *testing.T) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadBuffer(netserve.DefaultReadBuffer)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			_, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(buf[:replyHeader], from)
		}
	}()
	report(t, conn.LocalAddr().(*net.UDPAddr).AddrPort())
	_ = conn.Close()
}

// report tells the address, and the processor time for every line of input
// until that ends.
func report(t *testing.T, addr netip.AddrPort) {
	if _, err := fmt.Fprintln(os.Stdout, addr); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var use syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(os.Stdout, time.Duration(use.Utime.Nano()+use.Stime.Nano()).Nanoseconds()); err != nil {
			t.Fatal(err)
		}
	}
}

// child is the measured process.
type child struct {
	b    *testing.B
	addr netip.AddrPort
	in   io.Writer
	out  *bufio.Scanner
}

func startChild(b *testing.B, mode string) *child {
	b.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0], "-test.run=^TestLoopbackServer$", "-test.v=false")
	if file := os.Getenv("RESPAWND_QR2_TEST_PROFILE"); file != "" {
		cmd.Args = append(cmd.Args, "-test.cpuprofile="+file+"."+strings.Fields(mode)[0])
	}
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c := &child{b: b, in: in, out: bufio.NewScanner(out)}
	b.Cleanup(func() {
		_ = in.Close()
		for c.out.Scan() { // it says PASS
			continue
		}
		if err := cmd.Wait(); err != nil {
			b.Errorf("child: %v", err)
		}
	})
	c.addr, err = netip.ParseAddrPort(c.line())
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func (c *child) line() string {
	c.b.Helper()
	if !c.out.Scan() {
		c.b.Fatalf("the child is gone: %v", c.out.Err())
	}
	return c.out.Text()
}

// cpu returns the processor time that the child has used.
func (c *child) cpu() (d time.Duration) {
	c.b.Helper()
	if _, err := fmt.Fprintln(c.in); err != nil {
		c.b.Fatal(err)
	}
	if _, err := fmt.Sscan(c.line(), (*int64)(&d)); err != nil {
		c.b.Fatal(err)
	}
	return d
}

// burst is how many operations are sent at once; their answers are then waited
// for. Single ones would mostly measure how long a sleeping process takes to wake.
const burst = 64

// load sends datagrams from many addresses and takes one answer per operation.
type load struct {
	conn     *netserve.PacketConn
	answered chan struct{} // one for each full burst of answers
	got      int           // of the current burst; only ServePacket uses it
	sent     int           // of the current burst
}

// ServePacket takes an answer.
func (l *load) ServePacket(netserve.PacketWriter, netserve.Packet) {
	if l.got++; l.got == burst {
		l.got = 0
		l.answered <- struct{}{}
	}
}

func newLoad(b *testing.B) *load {
	b.Helper()
	conn, err := netserve.ListenPackets(b.Context(), "udp4", "0.0.0.0:0", netserve.ListenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	l := &load{conn: conn, answered: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- netserve.ServePackets(ctx, conn, l, netserve.PacketOptions{}) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("load: %v", err)
		}
		_ = conn.Close()
	})
	return l
}

// operation sends the packets of one operation, and waits if it ends a burst.
func (l *load) operation(b *testing.B, from netip.Addr, to netip.AddrPort, packets ...[]byte) {
	for _, p := range packets {
		if err := l.conn.WritePacket(p, from, to); err != nil {
			b.Fatal(err)
		}
	}
	if l.sent++; l.sent < burst {
		return
	}
	l.sent = 0
	select {
	case <-l.answered:
	case <-time.After(10 * time.Second):
		b.Fatal("no answer to a burst")
	}
}

// measure runs operations and reports the processor time of the child for each.
func (l *load) measure(b *testing.B, c *child, operation func(i int)) {
	for i := range 100 * burst {
		operation(i)
	}
	before := c.cpu()
	n := 0
	for b.Loop() {
		operation(n)
		n++
	}
	b.ReportMetric(float64(c.cpu()-before)/float64(n), "cpu-ns/op")
}

// BenchmarkLoopback: compare cpu-ns/op of the two heartbeat rows (a heartbeat
// that changes every time, and a keepalive with its answer: two datagrams in, one
// out) with that of the echo (1,000 bytes in, 7 out). Twice the echo is the goal.
func BenchmarkLoopback(b *testing.B) {
	b.Run("echo", func(b *testing.B) {
		l := newLoad(b)
		c := startChild(b, "echo")
		packet := busyHeartbeat(1, "gmtest")
		l.measure(b, c, func(i int) { l.operation(b, loopbackHost(i%1000), c.addr, packet) })
	})
	for _, n := range []int{1_000, 50_000} {
		b.Run(fmt.Sprint("heartbeat+keepalive/", n), func(b *testing.B) {
			l := newLoad(b)
			c := startChild(b, fmt.Sprint(n, " ", l.conn.LocalAddr().Port()))
			heartbeat := busyHeartbeat(1, "gmtest")
			counter := strings.Index(string(heartbeat), counterMark)
			alive := (&host{}).packet(KindKeepalive)
			l.measure(b, c, func(i int) {
				instance := uint32(i % n)
				binary.BigEndian.PutUint32(heartbeat[1:], instance)
				binary.BigEndian.PutUint32(alive[1:], instance)
				count(heartbeat, counter)
				l.operation(b, loopbackHost(i%n), c.addr, heartbeat, alive)
			})
		})
	}
}
