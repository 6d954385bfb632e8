package natneg_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/cluster/clustertest"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// newClusterCity starts three nodes, each with one address of the city. It needs
// synctest; the servers stop when ctx ends.
func newClusterCity(t *testing.T, ctx context.Context) (*city, *clustertest.Net) {
	t.Helper()
	c := &city{t: t, net: &natnegtest.Memory{Delay: 20 * time.Millisecond}}
	bus := clustertest.New(t, "a", "b", "c")
	bus.SetDelay(time.Millisecond)
	bus.SetSilence(2 * time.Second)
	for i, name := range []string{"a", "b", "c"} {
		opt := natneg.DefaultOptions()
		opt.Cluster = bus.Bus(name)
		s := natneg.New(opt)
		c.at[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i + 1)}), 27901)
		var w memoryWriter
		ready := make(chan struct{})
		sock, err := c.net.Open(c.at[i], func(data []byte, from netip.AddrPort) {
			<-ready
			s.Deliver(0, w, netserve.Packet{Data: data, From: from, To: c.at[i].Addr()})
		})
		if err != nil {
			t.Fatal(err)
		}
		w = memoryWriter{sock}
		close(ready)
		s.Attach([]netserve.PacketWriter{w}, c.at[i:i+1], nil, netip.AddrPort{})
		c.server = s
		go s.Join(ctx)
		go func() {
			tick := time.NewTicker(natneg.WheelStep)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					s.Tick()
				}
			}
		}()
	}
	return c, bus
}

func TestPlayersOfDifferentNodesMeet(t *testing.T) {
	const (
		port = natnegtest.PortRestricted
		symm = natnegtest.Symmetric
	)
	one := func(n int) [3]int { return [3]int{n, n, n} }
	tests := map[string]struct {
		client, host natnegtest.Kind
		to           [2][3]int // the nodes that the players take for natneg1 to 3
		want         natnegtest.End
	}{
		"one node":                        {port, port, [2][3]int{one(1), one(1)}, natnegtest.Connected},
		"two nodes":                       {port, port, [2][3]int{one(0), one(2)}, natnegtest.Connected},
		"names lead anywhere":             {port, port, [2][3]int{{0, 1, 2}, {2, 0, 1}}, natnegtest.Connected},
		"symmetric in steps, three nodes": {port, symm, [2][3]int{{0, 1, 2}, {0, 1, 2}}, natnegtest.Connected},
		"symmetric in steps, each sees one address": {port, symm, [2][3]int{one(0), one(1)}, natnegtest.PingTimeout},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for cookie := range uint32(4) { // other nodes hold the negotiation
				synctest.Test(t, func(t *testing.T) {
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					c, _ := newClusterCity(t, ctx)
					nats := []*natnegtest.NAT{c.nat(10, tc.client), c.nat(20, tc.host)}
					var players []*natnegtest.Player
					for i, n := range nats {
						n.Port = natnegtest.Steps(30000, 1)
						p := c.player(n, "192.168.1.5", byte(i), true)
						p.Cookie = 0x5000 + cookie
						for k, node := range tc.to[i] {
							p.Servers[k] = c.at[node]
						}
						players = append(players, p)
					}
					for i, r := range c.meet(ctx, 300*time.Millisecond, players...) {
						if r.End != tc.want || !r.Confirmed {
							t.Errorf("cookie %d, player %d: got %v, confirmed %v; want %v", cookie, i, r.End, r.Confirmed, tc.want)
						}
					}
					stop()
					synctest.Wait()
				})
			}
		})
	}
}

// A node dies, unnoticed for two seconds, at any time of a negotiation. Players that
// spoke to the others meet.
func TestPlayersMeetAlthoughANodeDies(t *testing.T) {
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond} {
		for cookie := range uint32(6) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				c, bus := newClusterCity(t, ctx)
				var players []*natnegtest.Player
				for i := range 2 {
					p := c.player(c.nat(byte(10*i+10), natnegtest.PortRestricted), "192.168.1.5", byte(i), false)
					p.Cookie = 0x5000 + cookie
					p.Servers = [3]netip.AddrPort{c.at[i], c.at[i], c.at[i]}
					players = append(players, p)
				}
				time.AfterFunc(after, func() { bus.Kill("c") })
				for i, r := range c.meet(ctx, 300*time.Millisecond, players...) {
					if r.End != natnegtest.Connected {
						t.Errorf("cookie %d, dead after %v, player %d: got %v, want connected", cookie, after, i, r.End)
					}
				}
				stop()
				synctest.Wait()
			})
		}
	}
}
