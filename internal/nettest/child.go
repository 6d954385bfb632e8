package nettest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// ChildTest is the name of the test that a Child runs.
const ChildTest = "TestLoopbackServer"

const (
	// role is the environment variable with the role of the process.
	role = "RESPAWND_ECHOTEST_ROLE"
	// profile names a file for its processor profile, to which the role's first
	// word is added; empty: none is written.
	profile = "RESPAWND_ECHOTEST_PROFILE"
)

// ChildRole returns the role of this process, empty if it is not a Child.
func ChildRole() string { return os.Getenv(role) }

// Child is a process in which a UDP service runs, so that the processor time of
// the service can be measured without that of its clients; or, for comparison,
// the simplest possible server: a loop that echoes.
//
// The process is a copy of the test program that runs only [ChildTest].
// Depending on [ChildRole] that test becomes an [EchoChild] or the service
// ([ServeChild]); without a role it is skipped. The benchmark starts the
// process ([StartChild]), talks to it over loopback, and reads its processor
// time ([Child.Used]).
type Child struct {
	// Addr is where it serves.
	Addr netip.AddrPort

	t   testing.TB
	in  io.Writer
	out *bufio.Scanner
}

// StartChild starts a process with a role. It ends with the test or benchmark, which
// is skipped where processor time cannot be measured.
func StartChild(t testing.TB, as string) *Child {
	t.Helper()
	if _, err := processorTime(); err != nil {
		t.Skip(err)
	}
	// The context of a test is over before its cleanups run.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^"+ChildTest+"$", "-test.v=false")
	if file := os.Getenv(profile); file != "" {
		cmd.Args = append(cmd.Args, "-test.cpuprofile="+file+"."+strings.Fields(as)[0])
	}
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &Child{t: t, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		_ = in.Close()
		for c.out.Scan() { // discards "PASS"
			continue
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", as, err)
		}
	})
	addr, err := netip.ParseAddrPort(c.line())
	if err != nil {
		t.Fatal(err)
	}
	c.Addr = addr
	return c
}

func (c *Child) line() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the process that is measured is gone: %v", c.out.Err())
	}
	return c.out.Text()
}

// Used returns the processor time of the process, system time included.
func (c *Child) Used() (d time.Duration) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in); err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Sscan(c.line(), (*int64)(&d)); err != nil {
		c.t.Fatal(err)
	}
	return d
}

// ServeChild runs the measured service in this process: it reports the address,
// and its processor time on each request, and returns when the benchmark has
// ended and serve has returned.
func ServeChild(t *testing.T, addr netip.AddrPort, serve func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	if _, err := fmt.Fprintln(os.Stdout, addr); err != nil {
		t.Error(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		used, err := processorTime()
		if err == nil {
			_, err = fmt.Fprintln(os.Stdout, used.Nanoseconds())
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// EchoChild is the simplest possible server: reply is called with each datagram
// and may send datagrams to its sender. The datagram is only valid during the
// call.
func EchoChild(t *testing.T, reply func(datagram []byte, send func([]byte))) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.SetReadBuffer(netserve.DefaultReadBuffer), conn.SetWriteBuffer(netserve.DefaultWriteBuffer)); err != nil {
		t.Fatal(err)
	}
	ServeChild(t, conn.LocalAddr().(*net.UDPAddr).AddrPort(), func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		var from netip.AddrPort
		send := func(b []byte) { _, _ = conn.WriteToUDPAddrPort(b, from) }
		buf := make([]byte, 64<<10)
		for {
			var n int
			var err error
			if n, from, err = conn.ReadFromUDPAddrPort(buf); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			reply(buf[:n], send)
		}
	})
}
