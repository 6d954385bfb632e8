package natneg

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
)

// TestLoopbackServer is the process that BenchmarkLoopback measures: the service, or an
// echo that cuts each packet to the size of our answers.
func TestLoopbackServer(t *testing.T) {
	switch nettest.ChildRole() {
	case "echo":
		nettest.EchoChild(t, func(datagram []byte, send func([]byte)) { send(datagram[:min(len(datagram), maxAnswer)]) })
	case "pair":
		conn, err := netserve.ListenPackets(t.Context(), "udp4", "127.0.0.1:0", netserve.ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		reg := prometheus.NewRegistry()
		counters := netserve.NewMetrics(reg, "natneg", reasons...)
		opt := DefaultOptions()
		opt.Registerer, opt.Metrics = reg, counters
		opt.MaxPerAddr, opt.Rate, opt.Burst = 1<<16, 1e9, 1e6
		nettest.ServeChild(t, conn.LocalAddr(), func(ctx context.Context) error { return New(opt).Serve(ctx, Sockets{Main: conn}) })
	default:
		t.Skip("it is the process that BenchmarkLoopback measures")
	}
}

// BenchmarkLoopback compares the CPU time that a process spends on pairs, and on
// echoes of the same number of packets. One operation is a pair.
func BenchmarkLoopback(b *testing.B) {
	for _, mode := range []string{"echo", "pair"} {
		b.Run(mode, func(b *testing.B) {
			c := nettest.StartChild(b, mode)
			var left atomic.Int64
			left.Store(int64(b.N))
			before := c.Used()
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					d, err := newDuo(c.Addr)
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
			b.ReportMetric(float64(c.Used()-before)/float64(b.N), "cpu-ns/op")
		})
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
