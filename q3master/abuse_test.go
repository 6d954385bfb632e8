package q3master

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/internal/racetest"
)

// clientPackets are packets of servers and browsers.
func clientPackets() (packets [][]byte) {
	for _, text := range []string{
		"heartbeat QuakeArena-1\n", "heartbeat DarkPlaces\x0a", "heartbeat ETFlatline-1\n", "heartbeat EnemyTerritory-1\n", "heartbeat\n",
		infoOf("AAAAAAAAAAA"), infoOf("x", "gamename", "Xonotic", "protocol", "3"),
		"getservers 68", "getservers 68 empty full", "getservers Xonotic 3", "getserversExt et 84 ipv6", "getinfo x", "getstatus",
	} {
		packets = append(packets, []byte(header+text))
	}
	return packets
}

// TestFloodFromForgedAddresses lets an attacker send everything that clients send. The
// lists are the only answers that are larger than their requests, and budgeted.
func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	synctest.Test(t, func(t *testing.T) {
		q := newQ3(t, func(o *Options) { o.ListsPerNet = 64 })
		for i := range 300 {
			q.register(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint16(27960+i)), "QuakeArena-1")
		}
		q.w.Take()
		begin := time.Now()
		a := &nettest.Attack{
			Handler: q.Server, To: masterAddr, Packets: clientPackets(), Count: 20_000, Memory: 64 << 20,
			Reply: func(_ netip.AddrPort, b []byte) [][]byte {
				if c, ok := strings.CutPrefix(string(b), header+"getinfo "); ok {
					return [][]byte{[]byte(header + infoOf(c)), []byte(header + infoOf(c, "protocol", "26"))}
				}
				return nil
			},
			Honest: func(a netip.Addr) bool { return q.opt.Registry.HasAt(a) },
			Exceptions: []nettest.Exception{{
				Name: "lists", Is: func(b []byte) bool {
					kind, _, _ := quake3.Cut(b)
					return kind == quake3.KindServers || kind == quake3.KindServersExt
				},
				More: func(nettest.Account) (packets, size int) {
					lists := q.ListBurst() + int(time.Since(begin)/q.live.Load().ListWindow) + 1
					return lists * 3, lists * 3 * quake3.MaxList
				},
			}},
		}
		a.Pass = func() { time.Sleep(50 * time.Millisecond); q.Expire(a, time.Now()) }
		a.Run(t)
		own := 0
		for _, srv := range q.opt.Registry.All() {
			at := srv.Public
			if a.Own(at.Addr()) {
				own++
			} else if at.Addr().As4()[0] != 192 {
				t.Errorf("%v is listed and proved nothing", at)
			}
		}
		if own == 0 {
			t.Error("none of the attacker's own addresses is listed, although they proved themselves")
		}
		if n := q.Pending(); n > q.live.Load().MaxPending {
			t.Errorf("%d servers waited for", n)
		}
	})
}

// TestDropped sends packets of other protocols.
func TestDropped(t *testing.T) {
	for name, tt := range map[string]struct{ packet, dropped, verdict string }{
		"too long": {header + strings.Repeat("x", quake3.MaxPacket), "oversized", "packet too long"},
		"QR2":      {"\x03abcdlocalip0\x00192.168.1.5\x00gamename\x00gmtest\x00\x00", "foreign", "wrong port: speaks GameSpy's protocol"},
		"Valve":    {"q", "foreign", "wrong port: speaks the protocol of Valve's master"},
		"unknown":  {header + "print\nhello", "unknown_kind", "packet not understood"},
		"noise":    {"zzz", "foreign", "none"},
		"nothing":  {"", "foreign", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQ3(t, nil)
			q.register(two, "QuakeArena-1")
			for _, from := range []netip.AddrPort{one, two} {
				q.ServePacket(q.w, packetOf(from, tt.packet))
			}
			if got := q.Handle(q.w, packetOf(one, tt.packet), time.Now()).String(); got != tt.dropped {
				t.Errorf("dropped %q, want %q", got, tt.dropped)
			}
			if got := q.verdict(one); got != tt.verdict {
				t.Errorf("verdict %q, want %q", got, tt.verdict)
			}
			if got := q.verdict(two); got != "listed" {
				t.Errorf("verdict on a listed server: %q", got)
			}
		})
	}
}

// FuzzPackets handles sequences of packets, separated by a byte FF.
func FuzzPackets(f *testing.F) {
	for _, p := range clientPackets() {
		f.Add(p[len(header):], []byte("getservers 68 full empty"))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		q := newQ3(t, nil)
		q.register(two, "QuakeArena-1")
		q.w.Take()
		in := 0
		for _, p := range [][]byte{first, second} {
			in += len(header) + len(p)
			q.ServePacket(q.w, packetOf(one, header+string(p)))
		}
		for _, p := range q.w.Take() {
			if kind, _, ok := quake3.Cut([]byte(p.data)); ok && kind == quake3.KindGetInfo {
				in -= len(p.data)
			}
		}
		if in < 0 {
			t.Error("more bytes were sent than came")
		}
		if q.listed(one) != nil {
			t.Error("listed without a challenge")
		}
	})
}
