package valvemaster

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/qr2"

	"github.com/respawnd/respawnd/internal/netserve"
)

const many = 10_000

// big is a master with many servers and no bounds.
func big(b *testing.B) *valve {
	b.Helper()
	v := newValve(b, func(o *Options) { o.Verdicts = nil; o.PagesPerAddr, o.PagesPerNet = 0, 0 })
	v.work = newAllowance(1 << 40)
	populate(b, v.list, many)
	v.lister.current(0)
	return v
}

// BenchmarkPage is one request: the first page, one in the middle for a browser
// that proved itself, and one that no server matches, which looks at all servers.
func BenchmarkPage(b *testing.B) {
	for name, filter := range map[string]string{
		"all":      "",
		"usual":    `\gamedir\cstrike\empty\1\full\1\secure\1\nor\1\white\1`,
		"unknown":  `\map\nowhere`,
		"wildcard": `\name_match\*unknown*`,
		"worst":    `\or\4\name_match\*a*q\name_match\*b*q\name_match\*c*q\name_match\*d*q\or\20` + repeated(`\gametype\x,y`, 20),
	} {
		b.Run(name+"/first", func(b *testing.B) {
			v := big(b)
			v.w = nil
			p := netserve.Packet{Data: ListRequest{AnyRegion, Start, []byte(filter)}.AppendTo(nil), From: netip.MustParseAddrPort("203.0.113.1:1")}
			b.ReportAllocs()
			for b.Loop() {
				v.ServePacket(nettest.Discard{}, p)
			}
		})
		b.Run(name+"/full", func(b *testing.B) {
			v := big(b)
			v.opt.Trusted = func(netip.Addr) bool { return true }
			p := netserve.Packet{Data: ListRequest{AnyRegion, Start, []byte(filter)}.AppendTo(nil), From: netip.MustParseAddrPort("203.0.113.1:1")}
			b.ReportAllocs()
			for b.Loop() {
				v.ServePacket(nettest.Discard{}, p)
			}
		})
	}
}

func repeated(s string, n int) (out string) {
	for range n {
		out += s
	}
	return out
}

// BenchmarkWalk is a whole list, page by page.
func BenchmarkWalk(b *testing.B) {
	v := big(b)
	b.ReportAllocs()
	for b.Loop() {
		if all, _ := v.walk("203.0.113.1:1", AnyRegion, ""); len(all) != many {
			b.Fatal(len(all))
		}
	}
}

// BenchmarkHeartbeat serves the packets of a listed server: the question for a
// challenge and the heartbeat.
func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{1, many} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			v := newValve(b, func(o *Options) { o.Verdicts = nil; o.Targets = agree{} })
			var a netip.AddrPort
			for i := range n {
				a = v.register(fmt.Sprintf("10.0.%d.%d:27015", i/250, i%250), nil)
			}
			q := netserve.Packet{Data: ChallengeRequest{}.AppendTo(nil), From: a}
			b.ReportAllocs()
			for b.Loop() {
				v.ServePacket(nettest.Discard{}, q)
				s := v.Server
				taken, _ := s.taken(a)
				hb := Heartbeat{
					Challenge: s.tokens.token(a, taken, slotOf(s.since(time.Now()))), Region: AnyRegion,
					GameDir: []byte("cstrike"), Map: []byte("de_dust2"), Version: []byte("1.0.0.34"), Product: []byte("cstrike"),
				}
				p, _ := hb.AppendTo(nil)
				v.ServePacket(nettest.Discard{}, netserve.Packet{Data: p, From: a})
			}
		})
	}
}

type agree struct{}

func (agree) Watch(netip.AddrPort) bool { return true }

func (agree) Answers(netip.AddrPort) bool { return true }
func (agree) Unwatch(netip.AddrPort)      {}

// BenchmarkViewAfterAChange follows one change in a long list.
func BenchmarkViewAfterAChange(b *testing.B) {
	v := big(b)
	at := time.Duration(0)
	v.lister.current(at)
	a := netip.MustParseAddrPort("100.64.1.1:27015")
	b.ReportAllocs()
	for b.Loop() {
		if err := put(v.list, a, Origin, someRules); err != nil {
			b.Fatal(err)
		}
		at += viewEvery
		v.lister.current(at)
	}
}

// BenchmarkForeignChanges follows a thousand changes of servers of other
// protocols.
func BenchmarkForeignChanges(b *testing.B) {
	v := big(b)
	at := time.Duration(0)
	v.lister.current(at)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i := range 1000 {
			a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), 1)
			if err := put(v.list, a, qr2.Origin, someRules); err != nil {
				b.Fatal(err)
			}
		}
		at += viewEvery
		b.StartTimer()
		v.lister.current(at)
	}
}
