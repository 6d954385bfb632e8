package qr2

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/master"
)

// textLedger keeps the accounts of every address, over all its ports.
type textLedger struct {
	in, out map[netip.Addr]int
	proved  map[netip.Addr]bool
	asked   map[netip.AddrPort][]byte // the last query
}

// WritePacket implements netserve.PacketWriter.
func (l *textLedger) WritePacket(data []byte, _ netip.Addr, to netip.AddrPort) error {
	l.out[to.Addr()] += len(data)
	l.asked[to] = bytes.Clone(data)
	return nil
}

// check is the rule against amplification: an address without a proof is sent
// no more bytes than came from it, but for one query.
func (l *textLedger) check(t *testing.T) {
	t.Helper()
	for a, out := range l.out {
		if in := l.in[a]; !l.proved[a] && out > in+textQuerySize {
			t.Fatalf("%v has proved nothing, sent %d bytes and got %d", a, in, out)
		}
	}
}

// textScript are packets of FuzzTextPackets, besides raw ones. PORT stands for
// a port of the same address.
var textScript = []string{
	`\heartbeat\PORT\gamename\gmtest`,
	`\heartbeat\PORT\gamename\gmtest\statechanged\2`,
	`\heartbeat\PORT\gamename\prequery\statechanged\`,
	`\heartbeat\PORT\gamename\silent`,
	`\heartbeat\PORT\gamename\unknown`,
	`\heartbeat\PORT\gamename\gmtest\hostname\a name\country\XX`,
	`\echo\AAAAAAAA`,
	`\echo\`,
	`\hostname\x\player_0\Joe\queryid\1.1`,
	`\mapname\y\final\\queryid\1.2`,
	`\statusresponse\0\hostname\x\score_0\eof\`,
	`\statusresponse\1\5\final\\eof\`,
	`\validate\AAAAAAAA\final\\queryid\1.1`,
	`\status\`,
}

// FuzzTextPackets plays packets of a few addresses with two ports each. Its
// input is a list of steps, as that of FuzzServePacket.
func FuzzTextPackets(f *testing.F) {
	every := make([]byte, 0, 2*len(textScript))
	for i := range textScript {
		every = append(every, byte(i), byte(i*5))
	}
	f.Add(every)
	f.Add([]byte{0, 0, 20, 0, 1, 0, 25, 200, 20, 0, 25, 200})
	f.Add([]byte{0, 4, 20, 4, 0, 0, 25, 200}) // proved at a port that its heartbeats left
	f.Add([]byte{3, 1, 20, 1, 0, 4, 21, 4, 8, 0, 9, 0})
	f.Add(append([]byte{30, 0, 255, 1}, sampleStatus...))
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 1<<14 {
			return
		}
		in := newIntake(t, func(o *Options) {
			o.Banned = func(a netip.Addr) bool { return a.As4()[3] == 4 }
		})
		l := &textLedger{map[netip.Addr]int{}, map[netip.Addr]int{}, map[netip.Addr]bool{}, map[netip.AddrPort][]byte{}}
		start := time.Now()
		for len(steps) >= 2 {
			what, who := int(steps[0]), steps[1]
			steps = steps[2:]
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1 + who&3}), 6500+uint16(who>>2)&1)
			var packet []byte
			switch {
			case what < len(textScript):
				packet = []byte(strings.Replace(textScript[what], "PORT", fmt.Sprint(6500+uint16(who>>3)&1), 1))
			case what < 25: // the right answer, if it was asked
				q := l.asked[from]
				token := string(q[bytes.LastIndexByte(q, '\\')+1:])
				packet = []byte(sampleStatus)
				if bytes.Contains(q, []byte(askEcho)) {
					packet = append(append(packet, askEcho...), token...)
				} else {
					packet = append(append(packet, `\validate\`...), gamespy.Response(secret, token)...)
				}
				packet = append(packet, `\final\\queryid\3.1`...)
				l.proved[from.Addr()] = l.proved[from.Addr()] || token != ""
			case what < 30: // time goes by, less than a verification lives
				in.text.tick(l, l, start.Add(time.Duration(who)*100*time.Millisecond))
				l.check(t)
				continue
			default:
				n := 0
				if len(steps) >= 2 {
					n = int(steps[0]) | int(steps[1])<<8
					steps = steps[2:]
				}
				n = min(n, len(steps))
				packet, steps = append([]byte{'\\'}, steps[:n]...), steps[n:]
			}
			l.in[from.Addr()] += len(packet)
			in.ServePacket(l, netserve.Packet{Data: packet, From: from, To: masterAddr})
			l.check(t)
			if held := in.text.table.held; held < 0 || held > maxHeld {
				t.Fatalf("%d bytes of answers held", held)
			}
		}
		for _, s := range in.list.All() {
			if !l.proved[s.Key.Source.Addr()] {
				t.Errorf("%v is listed and has proved nothing", s.Key)
			}
		}
		if len(in.text.table.queue) != len(in.text.table.hosts) {
			t.Errorf("%d hosts and %d in the queue", len(in.text.table.hosts), len(in.text.table.queue))
		}
		in.list.RemoveFunc(func(*master.Server) bool { return true })
		in.text.tick(l, l, start.Add(time.Hour))
		if n := in.text.table.pending.Len() + len(in.text.table.waits) + in.text.table.held; n != 0 && len(in.text.table.hosts) == 0 {
			t.Errorf("%d entries are left without a host", n)
		}
	})
}
