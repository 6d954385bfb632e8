package qr2

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// ledger keeps the accounts of every source.
type ledger struct {
	in, out map[netip.AddrPort]int
	proved  map[netip.AddrPort]bool
	last    map[netip.AddrPort][]byte // its last challenge packet
}

// WritePacket implements netserve.PacketWriter.
func (l *ledger) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	l.out[to] += len(data)
	if p := (sent{data: data}); p.kind() == KindChallenge {
		l.last[to] = append([]byte(nil), data...)
	}
	return nil
}

// check is the rule against amplification: an address without a proof is sent
// no more bytes than came from it, but for one challenge.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	for a, out := range l.out {
		if in := l.in[a]; !l.proved[a] && out > in+36 {
			t.Fatalf("%v has proved nothing, sent %d bytes and got %d", a, in, out)
		}
	}
}

// scripted packets of FuzzServePacket, besides raw ones.
var scripted = []string{
	"\x03KKKKgamename\x00gmtest\x00",
	"\x03KKKKgamename\x00gmtest\x00\x00",
	"\x03KKKKgamename\x00prequery\x00localip0\x0010.0.0.1\x00localport\x006500\x00natneg\x001\x00hostname\x00a server with a name\x00\x00",
	"\x03KKKKstatechanged\x003\x00gamename\x00gmtest\x00numplayers\x001\x00\x00\x00\x01player_\x00\x00Joe\x00",
	"\x03KKKKstatechanged\x002\x00gamename\x00gmtest\x00\x00",
	"\x03KKKKgamename\x00nobody\x00\x00",
	"\x03KKKKgamename\x00nosecret\x00\x00",
	"\x03KKKK\x00",
	"\x08KKKK",
	"\x01KKKKAAAAAAAAAAAAAAAAAAAAAAAAAAAA\x00",
	"\x01KKKK",
	"\x07KKKK\x00\x00\x00\x01",
	"\x09KKKKgmtest\x00",
	"\x09KKKKx\x00",
}

// FuzzServePacket plays packets of a few sources. Its input is a list of steps: the
// action, the source, and for raw packets a length and the bytes.
func FuzzServePacket(f *testing.F) {
	every := make([]byte, 0, 2*len(scripted))
	for i := range scripted {
		every = append(every, byte(i), byte(i*5))
	}
	f.Add(every)
	f.Add([]byte{0, 0, 0, 4, 0, 8, 0, 12, 9, 0, 9, 0, 9, 0, 0, 0, 4, 0, 0, 0})
	f.Add([]byte{2, 1, 20, 1, 3, 1, 20, 1, 8, 1, 4, 1, 8, 1})
	for _, c := range captures(f) {
		var steps []byte
		for _, r := range c.Packets {
			if b := r.bytes(f); r.From == "host" {
				steps = append(append(steps, 30, 0, byte(len(b)), byte(len(b)>>8)), b...)
			}
		}
		f.Add(steps)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 1<<15 {
			return
		}
		in := newIntake(t, func(o *Options) {
			o.AddError = len(steps)%2 == 0
			o.Banned = func(a netip.Addr) bool { return a.As4()[3] == 4 }
		})
		l := &ledger{map[netip.AddrPort]int{}, map[netip.AddrPort]int{}, map[netip.AddrPort]bool{}, map[netip.AddrPort][]byte{}}
		for len(steps) >= 2 {
			what, who := int(steps[0]), steps[1]
			steps = steps[2:]
			h := in.host("192.0.2.1:6500").restarted(uint32(who >> 2))
			h.addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1 + who&3}), 6500)
			var packet []byte
			switch {
			case what < len(scripted):
				packet = []byte(scripted[what])
				binary.BigEndian.PutUint32(packet[1:], h.instance)
			case what < 25: // the right answer, if it was challenged
				c := l.last[h.addr]
				if c == nil {
					continue
				}
				text := string(c[replyHeader : len(c)-1])
				packet = append([]byte{byte(KindChallenge)}, c[3:7]...)
				packet = append(append(packet, gamespy.Response(secret, text)...), 0)
				l.proved[h.addr] = true
			case what < 30: // time goes by, less than a verification lives
				now := time.Now().Add(time.Duration(who) * 100 * time.Millisecond)
				in.repeatChallenges(l, now)
				in.repeatMessages(l, now)
				l.check(t)
				continue
			default:
				n := 0
				if len(steps) >= 2 {
					n = int(steps[0]) | int(steps[1])<<8
					steps = steps[2:]
				}
				n = min(n, len(steps))
				packet, steps = steps[:n:n], steps[n:]
			}
			l.in[h.addr] += len(packet)
			in.ServePacket(l, netserve.Packet{Data: packet, From: h.addr, To: masterAddr})
			l.check(t)
		}
		for _, s := range in.list.All() {
			if !l.proved[s.Key.Source] {
				t.Errorf("%v is listed and has proved nothing", s.Key)
			}
		}
		in.list.RemoveFunc(func(*master.Server) bool { return true })
	})
}
