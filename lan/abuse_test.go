package lan

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
)

// The search sends nothing in response to forged answers, from any address, and
// bounds the state that it keeps for them.
func TestForgedAnswers(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	for name, first := range map[string]string{"of strangers": "20.0.0.0", "of neighbours": "192.0.2.0"} {
		f := newFinder(t, func(o *Options) { o.Found = func(netip.AddrPort) bool { return true } })
		f.round(netip.Addr{})
		a := &nettest.Attack{
			To: netip.MustParseAddr("192.0.2.200"), First: netip.MustParseAddr(first), Sources: 250, Memory: 16 << 20,
			Packets: [][]byte{
				[]byte(`\gamename\old\hostname\x\queryid\1.1`), []byte(`\gamename\old\hostname\x\final\\queryid\1.1`), []byte(`\player_0\x\queryid\1.2`),
				[]byte("\xff\xff\xff\xffI\x11name\x00map\x00folder\x00game\x00\x00\x00\x01\x10\x00dl\x00\x00"), []byte("\xff\xff\xff\xffA1234"),
				binaryAnswer(f, "gamename", "new", "hostname", "x", ""),
				{0, 0, 0, 0, 0},
				{9, 1, 2, 3, 4, '5', 0}, // a challenge for a question that was not asked
			},
		}
		a.Handler = onPorts{f, 7778, 6500, 27015, 10666}
		if r := a.Run(t); r.Total.PacketsOut != 0 {
			t.Errorf("%s: %d packets sent", name, r.Total.PacketsOut)
		}
		if n := len(f.answers); n > maxAnswers {
			t.Errorf("%s: %d answers are kept, want at most %d", name, n, maxAnswers)
		}
		if n := f.opt.Registry.Len(); n > 250*4 || name == "of strangers" && n != 0 {
			t.Errorf("%s: %d servers are listed", name, n)
		}
	}
}

// onPorts moves an attack to the ports on which game servers answer.
type onPorts struct {
	*Finder
	a, b, c, d uint16
}

func (h onPorts) ServePacket(w netserve.PacketWriter, p netserve.Packet) {
	port := [4]uint16{h.a, h.b, h.c, h.d}[p.From.Port()%4]
	p.From = netip.AddrPortFrom(p.From.Addr(), port)
	h.Finder.ServePacket(w, p)
}
