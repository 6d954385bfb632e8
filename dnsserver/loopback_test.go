package dnsserver

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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/netserve"
)

// childMode tells a copy of the test program to be a server that is measured:
// "echo" or "dns".
const childMode = "RESPAWND_DNS_TEST_LOOPBACK"

// TestLoopbackServer is the measured process. It serves until its standard input
// ends.
func TestLoopbackServer(t *testing.T) {
	mode := os.Getenv(childMode)
	if mode == "" {
		t.Skip("it is the child process of BenchmarkLoopback")
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if mode == "echo" {
		echo(t, ctx)
		return
	}
	conn, ln := listen(t)
	_, _ = fmt.Fprintln(os.Stdout, conn.LocalAddr())
	f := newServer(t, func(o *Options) {
		o.Limit = netserve.NewLimiter(netserve.LimiterOptions{Rate: 1e9, Burst: 1e6})
	})
	if err := f.Serve(ctx, conn, ln); err != nil {
		t.Error(err)
	}
}

// echo sends back what comes: the barest server there is.
func echo(t *testing.T, ctx context.Context) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadBuffer(netserve.DefaultReadBuffer)
	_, _ = fmt.Fprintln(os.Stdout, conn.LocalAddr())
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	buf := make([]byte, 64<<10)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		_, _ = conn.WriteToUDPAddrPort(buf[:n], from)
	}
}

// BenchmarkLoopback compares the processor time that a process spends on
// questions and on echoes of them, over sockets: compare cpu-ns/op. The echo may
// take as little as half of it. Clients ask in bursts, so that neither is
// measured by how long a sleeping process takes to wake.
func BenchmarkLoopback(b *testing.B) {
	for _, mode := range []string{"echo", "dns"} {
		b.Run(mode, func(b *testing.B) {
			at, end := startServer(b, mode)
			question := pack(b, about("gmtest.master.gamespy.com", dns.TypeA))
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { askInBursts(b, at, question, &left) })
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(end().Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// askInBursts asks until nothing is left.
func askInBursts(b *testing.B, at netip.AddrPort, question []byte, left *atomic.Int64) {
	const burst = 32
	conn, err := new(net.Dialer).DialContext(b.Context(), "udp4", at.String())
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	packet, buf := append([]byte(nil), question...), make([]byte, 2048)
	for left.Add(-burst) > -burst {
		for i := range burst {
			binary.BigEndian.PutUint16(packet, uint16(i))
			if _, err := conn.Write(packet); err != nil {
				b.Error(err)
				return
			}
		}
		_ = conn.SetReadDeadline(time.Now().Add(hang))
		for range burst {
			if _, err := conn.Read(buf); err != nil {
				b.Errorf("no answer: %v", err)
				return
			}
		}
	}
}

// startServer starts the measured process. end stops it and returns the processor
// time that it took.
func startServer(b *testing.B, mode string) (at netip.AddrPort, end func() time.Duration) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestLoopbackServer$", "-test.v=false")
	if file := os.Getenv("RESPAWND_DNS_TEST_PROFILE"); file != "" {
		cmd.Args = append(cmd.Args, "-test.cpuprofile="+file+"."+mode)
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
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	if at, err = netip.ParseAddrPort(strings.TrimSpace(line)); err != nil {
		b.Fatal(err)
	}
	return at, func() time.Duration {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, lines)
		if err := cmd.Wait(); err != nil {
			b.Errorf("child: %v", err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}
