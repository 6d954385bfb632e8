package probe

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe/probetest"
)

// serverAnswers are answers of servers, in every protocol.
func serverAnswers() (packets [][]byte) {
	g := probetest.Arena("plain")
	for _, p := range Protocols() {
		for _, question := range []string{
			`\status\`, "\xff\xff\xff\xffTSource Engine Query\x00\x0a\x08\x5e\xea", "\xff\xff\xff\xffTSource Engine Query\x00",
			"\xff\xff\xff\xffV\x0a\x08\x5e\xea", "\xff\xff\xff\xffU\x0a\x08\x5e\xea", "\xfe\xfd\x09KKKK", "\xfe\xfd\x00KKKK\xff\xff\xff\x01",
		} {
			packets = append(packets, g.Speaks(p.String())([]byte(question))...)
		}
	}
	return append(packets, []byte("\xff\xff\xff\xffA1234"), []byte("\xff\xff\xff\xffI"), []byte(`\final\`))
}

// Forged answers of servers that are watched do not make the prober
// send more than a few questions each visit, and packets of others are dropped.
func TestFloodOfForgedAnswersMakesUsAskLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		const mostPerVisit, size = 40, 64
		begin := time.Now()
		a := &nettest.Attack{
			Handler: w.p, To: netip.MustParseAddr("198.51.100.1"), Packets: serverAnswers(), Count: 30_000, Memory: 64 << 20,
			Pass: func() { time.Sleep(tickEvery); w.p.tick(time.Now()) },
			Exceptions: []nettest.Exception{{
				Name: "questions", Is: func([]byte) bool { return true },
				More: func(nettest.Account) (packets, bytes int) {
					visits := int(time.Since(begin)/minInterval) + 1
					return mostPerVisit * visits, mostPerVisit * visits * size
				},
			}},
		}
		w.p.start(a)
		defer w.p.stop()
		watched := make(map[netip.AddrPort]bool)
		for i := range 32 {
			at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, 0, 0, byte(i)}), 10666)
			watched[at] = true
			w.watch(at, Protocols()[i%len(Protocols())], master.Static)
		}
		a.Run(t)
		for _, s := range w.reg.All() {
			if !watched[s.Key.Source] {
				t.Errorf("%v is listed and was never asked", s.Key.Source)
			}
		}
	})
}
