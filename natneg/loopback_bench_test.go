package natneg

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/netserve"
)

// childMode tells a copy of the test program to be a server that is measured.
const childMode = "NATNEG_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(mode); err != nil {
			panic(err)
		}
		return
	}
	m.Run()
}

// child serves until its standard input ends.
func child(mode string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if mode == "echo" {
		return echo(ctx)
	}
	conn, err := netserve.ListenPackets(ctx, "udp4", "127.0.0.1:0", netserve.ListenOptions{})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, conn.LocalAddr()) // this is how the parent learns it
	reg := prometheus.NewRegistry()
	counters := netserve.NewMetrics(reg, "natneg", DropReasons()...)
	opt := Options{Registerer: reg, Metrics: counters, Packets: netserve.PacketOptions{Metrics: counters}}
	opt.MaxPerAddr = 1 << 16
	opt.Unproved = netserve.NewLimiter(netserve.LimiterOptions{Rate: 1e9, Burst: 1e6})
	return New(opt).Serve(ctx, Sockets{Main: conn})
}

// echo is what a pair is compared with: a loop that sends back what it gets, cut
// to the size of our answers.
func echo(ctx context.Context) error {
	p, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	conn, ok := p.(*net.UDPConn)
	if !ok {
		return errors.New("not a UDP socket")
	}
	_, _ = fmt.Fprintln(os.Stdout, conn.LocalAddr()) // this is how the parent learns it
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	buf := make([]byte, 2048)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return nil
		}
		_, _ = conn.WriteToUDPAddrPort(buf[:min(n, maxAnswer)], from)
	}
}

// BenchmarkLoopback compares the CPU time that a process spends on pairs, and on
// echoes of the same number of packets. One operation is a pair.
func BenchmarkLoopback(b *testing.B) {
	for _, mode := range []string{"echo", "pair"} {
		b.Run(mode, func(b *testing.B) {
			at, end := startChild(b, mode)
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					d, err := newDuo(at)
					if err != nil {
						b.Error(err)
						return
					}
					defer d.close()
					for cookie := left.Add(-1); cookie >= 0; cookie = left.Add(-1) {
						if err := d.negotiate(uint32(cookie), mode == "echo"); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(end().Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// startChild starts a server in a process of its own. end stops it and returns
// the CPU time that it took.
func startChild(b *testing.B, mode string) (at netip.AddrPort, end func() time.Duration) {
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
	if at, err = netip.ParseAddrPort(strings.TrimSpace(line)); err != nil {
		b.Fatal(err)
	}
	return at, func() time.Duration {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error("child " + strconv.Itoa(cmd.Process.Pid) + ": " + err.Error())
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
}

// duo is two clients that negotiate with each other again and again.
type duo struct {
	conns   [2]net.Conn
	packets []pairPacket
	buf     []byte
}

func newDuo(at netip.AddrPort) (*duo, error) {
	d := &duo{packets: pairPackets(), buf: make([]byte, 2048)}
	for i := range d.conns {
		c, err := (&net.Dialer{}).DialContext(context.Background(), "udp4", at.String())
		if err != nil {
			d.close()
			return nil, err
		}
		d.conns[i] = c
	}
	return d, nil
}

func (d *duo) close() {
	for _, c := range d.conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// negotiate sends the packets of a pair and takes the answers: three receipts
// each, a connect each, and the receipts of the reports. An echo answers the
// receipts of the connects instead of sending connects.
func (d *duo) negotiate(cookie uint32, echo bool) error {
	for _, p := range d.packets {
		binary.BigEndian.PutUint32(p.data[8:], cookie)
	}
	steps := [...]struct{ from, to, answersA, answersB int }{
		{0, 3, 3, 0}, {3, 6, 1, 4}, {6, 8, 0, 0}, {8, 10, 1, 1},
	}
	if echo {
		steps[1].answersA, steps[1].answersB = 0, 3
		steps[2].answersA, steps[2].answersB = 1, 1
	}
	for _, s := range steps {
		for _, p := range d.packets[s.from:s.to] {
			if _, err := d.conns[p.index].Write(p.data); err != nil {
				return err
			}
		}
		for i, n := range [2]int{s.answersA, s.answersB} {
			for range n {
				if err := d.read(i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *duo) read(i int) error {
	if err := d.conns[i].SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	_, err := d.conns[i].Read(d.buf)
	return err
}
