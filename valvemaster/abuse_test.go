package valvemaster

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/internal/uplink"
)

// clientPackets are packets of servers and browsers. The seeds are servers that
// populate lists.
func clientPackets(t testing.TB) [][]byte {
	packets := [][]byte{
		ChallengeRequest{}.AppendTo(nil),
		ChallengeRequest{Nonce: 7, HasNonce: true}.AppendTo(nil),
		[]byte("q"), []byte("b\n"), []byte("1\xff0.0.0.0:0\x00\x00"),
		[]byte("0\n\\protocol\\7\\challenge\\1\\players\\0\\max\\16\\bots\\0\\gamedir\\cstrike\\map\\de_dust2\\password\\0\\os\\l\\lan\\0\\region\\255\\gameport\\27015\\version\\1\\type\\d\\secure\\1\n"),
		beat(t, Heartbeat{Challenge: 1, Region: 3}),
		Goodbye{Challenge: 1, HasChallenge: true}.AppendTo(nil),
	}
	for _, filter := range []string{"", `\key\1`, `\gamedir\cstrike\key\12ab34cd`, `\gamedir\cstrike`, `\nor\1\map\de_dust2`, `\name_match\*9*\empty\1`} {
		packets = append(packets, ListRequest{Region: AnyRegion, Seed: Start, Filter: []byte(filter)}.AppendTo(nil))
		for i := range byte(40) {
			seed := netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, 64, 0, i}), 27015)
			packets = append(packets, ListRequest{Region: AnyRegion, Seed: seed, Filter: []byte(filter)}.AppendTo(nil))
		}
	}
	return packets
}

// clientReply is a server's reply to a challenge, and a browser's to a page.
func clientReply(t testing.TB) func(netip.AddrPort, []byte) [][]byte {
	return func(_ netip.AddrPort, b []byte) [][]byte {
		if c, err := ParseChallenge(b); err == nil {
			return [][]byte{beat(t, Heartbeat{Challenge: c.Challenge, Region: AnyRegion})}
		}
		if l, err := ParseList(b); err == nil && !l.Last && len(l.Servers) > 0 {
			return [][]byte{ListRequest{Region: AnyRegion, Seed: l.Servers[len(l.Servers)-1]}.AppendTo(nil)}
		}
		return nil
	}
}

func TestFloodFromForgedAddresses(t *testing.T) {
	racetest.Skip(t, "sends many packets")
	for name, change := range map[string]func(*Options){
		"without budgets": func(o *Options) { o.PagesPerAddr, o.PagesPerNet = 0, 0 },
		"some banned":     func(o *Options) { o.Banned = func(a netip.Addr) bool { return a.As4()[3]%4 == 0 } },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newValve(t, change)
				populate(t, v.list, 300)
				begin := time.Now()
				a := &nettest.Attack{
					Handler: v.Server, To: masterAddr, Packets: clientPackets(t), Reply: clientReply(t), Count: 10_000, Memory: 64 << 20,
					Pass: func() { time.Sleep(50 * time.Millisecond); v.tick(time.Now()) },
					Exceptions: []nettest.Exception{{
						Name: "challenges", Is: func(b []byte) bool { return Kind(b[4]) == KindChallenge },
						More: func(in nettest.Account) (packets, size int) { return 0, (maxChallenge - 1) * in.PacketsIn },
					}, {
						Name: "small pages", Is: func(b []byte) bool { return Kind(b[4]) == KindList && len(b) <= 6+(mostSmall+1)*entrySize },
						More: func(in nettest.Account) (packets, size int) { return 0, 6 + mostSmall*entrySize*in.PacketsIn },
					}, {
						Name: "keyed pages", Is: func(b []byte) bool { return len(b) > 6 && b[6] == keyMark },
						More: func(nettest.Account) (packets, size int) {
							windows := 1 + time.Since(begin).Seconds()/uplink.BudgetWindow.Seconds()
							return 0, int(windows*keyedPerAddr) * maxList
						},
					}, {
						// A forger that guesses the ends of pages right, here with
						// likely seeds, is believed for a while.
						Name: "full pages after two lucky guesses", Is: func(b []byte) bool { return Kind(b[4]) == KindList },
						More: func(in nettest.Account) (packets, size int) { return 0, in.PacketsIn*maxList/200 + 4*maxList },
					}},
				}
				a.Run(t)
				own := 0
				for at := range v.asker.watched {
					if a.Own(at.Addr()) {
						own++
					} else {
						t.Errorf("%v is asked and proved nothing", at)
					}
				}
				if own == 0 {
					t.Error("none of the attacker's own addresses is asked, although they proved themselves")
				}
			})
		})
	}
}
