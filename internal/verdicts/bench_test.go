package verdicts

import (
	"io"
	"net/netip"
	"testing"

	"github.com/rs/zerolog"
)

// crowd returns the addresses of n servers, on machines of their own.
func crowd(n int) []netip.AddrPort {
	list := make([]netip.AddrPort, n)
	for i := range list {
		list[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 6500)
	}
	return list
}

// A round is the cost of each heartbeat of a server that never answers.
func BenchmarkFailingRound(b *testing.B) {
	for _, bench := range []struct {
		name  string
		crowd int
	}{
		{"same_servers", DefaultCapacity / 2},
		{"ever_new_servers", 1 << 20},
	} {
		b.Run(bench.name, func(b *testing.B) {
			servers := crowd(bench.crowd)
			log := NewLog(zerolog.New(io.Discard).Level(zerolog.InfoLevel), 0)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				a := servers[i%len(servers)]
				i++
				log.Note("qr2", a, "gmtest", Heard)
				log.Note("qr2", a, "gmtest", ChallengeSent)
				log.Note("qr2", a, "gmtest", NoAnswer)
			}
		})
	}
}

// One address with many ports, all of which fail.
func BenchmarkFailingPorts(b *testing.B) {
	log := NewLog(zerolog.New(io.Discard).Level(zerolog.InfoLevel), 0)
	host := netip.MustParseAddr("192.0.2.1")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		a := netip.AddrPortFrom(host, uint16(i))
		log.Note("qr2", a, "gmtest", ChallengeSent)
		log.Note("qr2", a, "gmtest", NoAnswer)
	}
}

// The page that explains reads the verdicts on one address while the log is full.
func BenchmarkOf(b *testing.B) {
	log := NewLog(zerolog.Nop(), 0)
	servers := crowd(DefaultCapacity)
	for _, a := range servers {
		log.Note("qr2", a, "gmtest", NoAnswer)
	}
	b.ReportAllocs()
	for b.Loop() {
		log.Of(servers[0].Addr())
	}
}
