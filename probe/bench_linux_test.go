package probe

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/probe/probetest"
	"github.com/respawnd/respawnd/valvemaster"
)

// playServers is the environment variable that makes this program play game
// servers.
const playServers = "RESPAWND_TEST_PLAY_SERVERS"

// TestMain plays game servers instead of running tests if a variable says so: they
// belong into another process when the time of this one is measured.
func TestMain(m *testing.M) {
	if os.Getenv(playServers) == "" {
		m.Run()
		return
	}
	conn, err := netserve.ListenPackets(context.Background(), "udp4", "0.0.0.0:0", netserve.ListenOptions{ReadBuffer: 16 << 20})
	if err != nil {
		return
	}
	if _, err := os.Stdout.WriteString(conn.LocalAddr().String() + "\n"); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _, _ = os.Stdin.Read(make([]byte, 1)); cancel() }() // until the parent is gone
	_ = netserve.ServePackets(ctx, conn, playing(fullGame().Speaks("a2s")), netserve.PacketOptions{})
}

// playing answers from whichever address was asked.
type playing probetest.Talk

func (p playing) ServePacket(w netserve.PacketWriter, question netserve.Packet) {
	for _, a := range p(question.Data) {
		_ = w.WritePacket(a, question.To, question.From) // the other side asks again
	}
}

// processorTime returns how long this process has computed, in the system too.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkTenThousandServers visits 10,000 servers of another process over
// sockets, info, players and rules of each, and reports the processor time of
// this process as the share of one core that it would be at 10,000 visits per
// minute. The servers are addresses of the loopback network with one socket.
func BenchmarkTenThousandServers(b *testing.B) {
	const servers = 10_000
	port := startServers(b)
	p, reg := benchProber(b)
	p.maxOpen = 64
	c := config()
	c.Rate, c.Every = 4000, time.Hour
	p.Reload(&c)
	conn, err := netserve.ListenPackets(b.Context(), "udp4", "0.0.0.0:0", netserve.ListenOptions{ReadBuffer: 16 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, conn) }()
	b.ReportAllocs()
	for b.Loop() {
		before := processorTime(b)
		for i := range servers {
			a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)}), port)
			if err := p.Watch(Target{Address: a, Protocol: A2S, Origin: valvemaster.Origin}); err != nil {
				b.Fatal(err)
			}
		}
		for reg.Len() < servers {
			time.Sleep(10 * time.Millisecond)
		}
		used := processorTime(b) - before
		b.ReportMetric(float64(used.Microseconds())/servers, "cpu-us/server")
		b.ReportMetric(100*used.Seconds()/60, "%-of-a-core")
		for _, t := range p.Watched(valvemaster.Origin) {
			p.Unwatch(t.Address, valvemaster.Origin)
		}
		p.mu.Lock()
		p.table = newTable()
		p.mu.Unlock()
	}
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// startServers starts the other process and returns the port of its servers.
func startServers(b *testing.B) uint16 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), playServers+"=1")
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if errIn != nil || errOut != nil || cmd.Start() != nil {
		b.Skip("another process cannot be started")
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		b.Fatal(err)
	}
	a, err := netip.ParseAddrPort(strings.TrimSpace(string(line[:n])))
	if err != nil {
		b.Fatal(err)
	}
	return a.Port()
}
