package zanmaster

import (
	"bufio"
	"context"
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
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// The benchmarks in this file measure a process of its own, so that what it
// uses is not mixed up with what the client uses: the master, or a bare echo
// that answers every datagram with the same packets and looks at nothing.

const childMode = "ZANMASTER_BENCHMARK_CHILD"

func TestMain(m *testing.M) {
	mode := os.Getenv(childMode)
	if mode == "" {
		m.Run() // what it returns becomes the exit code
		return
	}
	if err := child(mode); err != nil {
		panic(err)
	}
}

// child serves until its standard input ends. mode is what, and how many
// servers on how many addresses.
func child(mode string) error {
	var what string
	var addrs, perAddr int
	if _, err := fmt.Sscanf(strings.ReplaceAll(mode, "/", " "), "%s %d %d", &what, &addrs, &perAddr); err != nil {
		return err
	}
	s := New(Options{
		Registry: master.NewRegistry(master.Limits{PerAddr: 1 << 16, PerNet: 1 << 16}),
		Policy:   Policy{ListWindow: -1, ListsPerNet: -1},
	})
	populate(&testing.B{}, s.list, addrs, perAddr)
	conn, err := netserve.ListenPackets(context.Background(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		return err
	}
	if what != "master" {
		_ = conn.Close()
		return echo(conn.LocalAddr(), what == "echolist", s.lists().packets)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, conn) }()
	_, _ = fmt.Fprintln(os.Stdout, conn.LocalAddr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	return <-ended
}

func echo(at netip.AddrPort, list bool, packets [][]byte) error {
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	_ = c.SetReadBuffer(netserve.DefaultReadBuffer)
	_ = c.SetWriteBuffer(netserve.DefaultWriteBuffer)
	_, _ = fmt.Fprintln(os.Stdout, at)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = c.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return nil // closed
		}
		if !list {
			_, _ = c.WriteToUDPAddrPort(buf[:n], from)
			continue
		}
		for _, p := range packets {
			_, _ = c.WriteToUDPAddrPort(p, from)
		}
	}
}

// run starts a child, has work talk to it, and returns the CPU time that it used.
func run(b *testing.B, mode string, work func(*net.UDPConn)) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.MustParseAddrPort(strings.TrimSpace(line))))
	if err != nil {
		b.Fatal(err)
	}
	_ = c.SetReadBuffer(4 << 20)
	work(c)
	_ = c.Close()
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// measure reports rate and CPU time of n operations.
func measure(b *testing.B, mode string, work func(*net.UDPConn)) {
	b.Helper()
	b.StopTimer()
	idle := run(b, mode, func(*net.UDPConn) {})
	var took time.Duration
	used := run(b, mode, func(c *net.UDPConn) {
		b.StartTimer()
		start := time.Now()
		work(c)
		took = time.Since(start)
		b.StopTimer()
	})
	b.ReportMetric(float64(b.N)/took.Seconds(), "req/s")
	b.ReportMetric(float64((used-idle).Microseconds())/float64(b.N), "cpu-µs/op")
}

// ask keeps some requests under way; each is answered with a number of packets.
func ask(b *testing.B, c *net.UDPConn, request []byte, packets int) {
	buf := make([]byte, 64<<10)
	window := max(1, 48/packets)
	sent, lost := 0, 0
	for range min(window, b.N) {
		_, _ = c.Write(request)
		sent++
	}
	for done := 0; done < b.N; done++ {
		for range packets {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := c.Read(buf); err != nil {
				lost++
				break
			}
		}
		if sent < b.N {
			_, _ = c.Write(request)
			sent++
		}
	}
	b.ReportMetric(float64(lost), "lost")
}

func BenchmarkLoopbackList(b *testing.B) {
	request := zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion))
	for _, n := range []struct{ addrs, perAddr, packets int }{{100, 1, 1}, {1000, 1, 7}, {4000, 1, 28}, {500, 10, 13}} {
		for _, what := range []string{"echolist", "master"} {
			b.Run(fmt.Sprintf("%dx%d/%s", n.addrs, n.perAddr, what), func(b *testing.B) {
				measure(b, fmt.Sprintf("%s/%d/%d", what, n.addrs, n.perAddr), func(c *net.UDPConn) { ask(b, c, request, n.packets) })
			})
		}
	}
}

// BenchmarkLoopbackHeartbeat: heartbeats are not answered, so every 32nd packet
// is one that is.
func BenchmarkLoopbackHeartbeat(b *testing.B) {
	challenge := zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: []byte(hexString), Complete: true, Enforces: true, Revision: current,
	}))
	b.Run("echo", func(b *testing.B) {
		measure(b, "echo/0/0", func(c *net.UDPConn) { ask(b, c, challenge, 1) })
	})
	b.Run("master", func(b *testing.B) {
		measure(b, "master/0/0", func(c *net.UDPConn) {
			buf := make([]byte, 2000)
			read := func() []byte {
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				n, err := c.Read(buf)
				if err != nil {
					b.Fatal(err)
				}
				return zandronum.Decode(nil, buf[:n], 2000)
			}
			_, _ = c.Write(challenge)
			v, ok := zandronum.ParseVerificationRequest(read())
			if !ok {
				b.Fatal("no verification request")
			}
			_, _ = c.Write(zandronum.Encode(nil, zandronum.AppendVerification(nil, v)))
			read() // the ban list
			_, _ = c.Write(zandronum.Encode(nil, zandronum.AppendReceipt(nil, v.Verification)))
			marker := zandronum.Encode(nil, zandronum.AppendListRequest(nil, 1))
			for i := range b.N {
				if i%32 == 31 {
					_, _ = c.Write(marker)
					read()
					continue
				}
				_, _ = c.Write(challenge)
			}
		})
	})
}
