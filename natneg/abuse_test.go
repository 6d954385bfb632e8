package natneg

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
)

// isType reports whether an answer is of a type.
func isType(want Type) func([]byte) bool {
	return func(b []byte) bool {
		h, _, err := ParseHeader(b)
		return err == nil && h.Type == want
	}
}

// connects are the packets that unproved addresses receive.
var connects = nettest.Exception{
	Name: "connects", Is: isType(TypeConnect),
	More: func(in nettest.Account) (packets, size int) {
		return connectsPerPacket * in.PacketsIn, connectsPerPacket * in.PacketsIn * (headerSize + connectBody)
	},
}

// longAcks are the receipts of inits of version 1, six bytes longer than those.
var longAcks = nettest.Exception{
	Name: "receipts of version 1",
	Is:   func(b []byte) bool { return isType(TypeInitAck)(b) && b[6] == 1 && len(b) == maxAnswer },
	More: func(in nettest.Account) (packets, size int) { return 0, longAckMore * in.PacketsIn },
}

// clientPackets are packets that clients send, with few cookies, so that strangers
// meet.
func clientPackets(t testing.TB) (packets [][]byte) {
	for _, c := range readJSON[captured](t, "packets.json") {
		packets = append(packets, nettest.Unhex(t, c.Hex))
	}
	for cookie := range uint32(64) {
		for index := range byte(2) {
			packets = append(packets,
				initPacket(cookie, index, PortNN1), initPacket(cookie, index, PortNN2), initPacket(cookie, index, PortNN3),
				initOf(1, cookie, Init{PortType: PortNN1, Index: index}),
				connectAckPacket(cookie, index), reportPacket(cookie, index, byte(cookie&1)))
		}
	}
	return packets
}

func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	for name, change := range map[string]func(*Options){
		"as it is":    func(*Options) {},
		"little room": func(o *Options) { o.MaxOpen, o.MaxPerAddr = 100, 4 },
		"some banned": func(o *Options) { o.Banned = func(a netip.Addr) bool { return a.As4()[3]%4 == 0 } },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(options(change))
				a := &nettest.Attack{
					Handler: s, To: serverAddr, Packets: clientPackets(t), Exceptions: []nettest.Exception{connects, longAcks},
					Count: 10_000, Memory: 64 << 20,
				}
				at := netip.AddrPortFrom(serverAddr, 27901)
				s.Attach([]netserve.PacketWriter{a}, []netip.AddrPort{at}, a, netip.AddrPortFrom(serverAddr, 40000))
				a.Pass = func() { time.Sleep(wheelStep); s.Tick() }
				a.Run(t)
				for range 5 * time.Minute / wheelStep {
					a.Pass()
				}
				if n := s.Open(); n != 0 {
					t.Errorf("%d cookies are open five minutes later", n)
				}
			})
		})
	}
}

// The gain from the cheapest packets that can be forged: one init of the oldest version
// with a new cookie each time.
func TestForgedInitsWithNewCookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(DefaultOptions())
		n := uint32(0)
		a := &nettest.Attack{
			To: serverAddr, Packets: [][]byte{initOf(1, 7, Init{PortType: PortNN1})}, Exceptions: []nettest.Exception{connects, longAcks},
			Count: 8_000, Sources: 64,
			Encode: func(p []byte) []byte {
				p = slices.Clone(p)
				if len(p) >= headerSize {
					n++
					binary.BigEndian.PutUint32(p[8:], n)
				}
				return p
			},
		}
		a.Handler = s
		s.Attach([]netserve.PacketWriter{a}, []netip.AddrPort{netip.AddrPortFrom(serverAddr, 27901)}, nil, netip.AddrPort{})
		a.Pass = func() { time.Sleep(wheelStep); s.Tick() }
		a.Run(t)
	})
}
