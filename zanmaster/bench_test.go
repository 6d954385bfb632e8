package zanmaster

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/nettest"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// populate lists servers: on addresses of their own, or several on each.
func populate(t testing.TB, r *master.Registry, addrs, perAddr int) {
	t.Helper()
	for i := range addrs {
		a := netip.AddrFrom4([4]byte{100, byte(64 + i>>16), byte(i >> 8), byte(i)})
		for port := range perAddr {
			source := netip.AddrPortFrom(a, uint16(10666+port))
			err := r.Put(master.Server{Key: master.Key{Source: source}, Public: source, Game: zandronum.Game, Origin: Origin})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{1, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			z := newZan(b, func(o *Options) { o.Verdicts = nil })
			var g *server
			for i := range n {
				g = z.server(fmt.Sprintf("10.%d.%d.%d:10666", i/62500, i/250%250, i%250))
				g.register()
			}
			p := netserve.Packet{Data: zandronum.Encode(nil, g.announcement()), From: g.addr, To: masterAddr}
			b.ReportAllocs()
			for b.Loop() {
				z.ServePacket(nettest.Discard{}, p)
			}
		})
	}
}

func BenchmarkHeartbeatWithBans(b *testing.B) {
	z := newZan(b, nil)
	var rules []rule
	for i := range 5000 {
		r, _, err := parseRule(fmt.Sprintf("10.%d.%d.0/%d", i/250, i%250, 20+i%13))
		if err != nil {
			b.Fatal(err)
		}
		rules = append(rules, r)
	}
	acc := *z.access.Load()
	acc.banned = newRuleSet(rules)
	z.access.Store(&acc)
	g := z.server("192.0.2.1:10666")
	g.register()
	p := netserve.Packet{Data: zandronum.Encode(nil, g.announcement()), From: g.addr, To: masterAddr}
	b.ReportAllocs()
	for b.Loop() {
		z.ServePacket(nettest.Discard{}, p)
	}
}

// BenchmarkRegister registers ever more servers; the cost of one must not depend
// on how many there are.
func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{0, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			z := newZan(b, func(o *Options) { o.Verdicts = nil; o.MaxPending = 1 << 20 })
			for i := range n {
				z.server(fmt.Sprintf("10.%d.%d.%d:10666", i/62500, i/250%250, i%250)).register()
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				g := server{z, netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(i >> 16), byte(i >> 8), byte(i)}), 10666), hexString, true, current}
				g.register()
				if i%20_000 == 0 { // not so many that the list is full
					b.StopTimer()
					for k := range 20_000 {
						j := i - k
						a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(j >> 16), byte(j >> 8), byte(j)}), 10666)
						z.hosts.removeHost(a)
						z.list.Remove(master.Key{Source: a})
					}
					b.StartTimer()
				}
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range []int{100, 1000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			z := newZan(b, func(o *Options) { o.ListWindow, o.ListsPerNet, o.ListsTotal = 0, 0, 0 })
			populate(b, z.opt.Registry, n, 1)
			p := netserve.Packet{
				Data: zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion)),
				From: netip.MustParseAddrPort("203.0.113.1:1"), To: masterAddr,
			}
			b.ReportAllocs()
			for b.Loop() {
				z.ServePacket(nettest.Discard{}, p)
			}
		})
	}
}

// BenchmarkListWithinBudgets is a request for a short list from everywhere, with
// the window of each address and the budget of each /24.
func BenchmarkListWithinBudgets(b *testing.B) {
	z := newZan(b, nil)
	request := zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a := netip.AddrFrom4([4]byte{11, byte(i), byte(i >> 8), byte(i >> 16)})
		z.ServePacket(nettest.Discard{}, netserve.Packet{Data: request, From: netip.AddrPortFrom(a, 1), To: masterAddr})
	}
}

// BenchmarkListAfterAChange is a request behind every single change.
func BenchmarkListAfterAChange(b *testing.B) {
	for _, n := range []int{100, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			z := newZan(b, func(o *Options) { o.ListWindow, o.ListsPerNet, o.ListsTotal = 0, 0, 0 })
			populate(b, z.opt.Registry, n, 1)
			p := netserve.Packet{
				Data: zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion)),
				From: netip.MustParseAddrPort("203.0.113.1:1"), To: masterAddr,
			}
			source := netip.MustParseAddrPort("192.0.2.1:10666")
			srv := master.Server{Key: master.Key{Source: source}, Public: source, Game: zandronum.Game, Origin: Origin}
			b.ReportAllocs()
			for b.Loop() {
				if !z.list.Remove(srv.Key) {
					if err := z.list.Put(srv); err != nil {
						b.Fatal(err)
					}
				}
				z.ServePacket(nettest.Discard{}, p)
			}
		})
	}
}
