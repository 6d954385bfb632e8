package cdkey

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
)

// clientPackets are packets that game servers send.
func clientPackets(t testing.TB) (packets [][]byte) {
	for _, p := range loadRecorded(t).Packets {
		if p.Dir == "C>S" {
			packets = append(packets, []byte(p.Clear))
		}
	}
	for _, skey := range []string{"1", "22", "999999999"} {
		packets = append(packets, []byte(auth(goodKey, skey)), []byte(older(auth(goodKey, skey))), []byte(auth("other", skey)))
	}
	shortest := `\auth\\pid\461\ch\\resp\` + Respond(goodKey, "", 7) + `\skey\1`
	return append(packets, []byte(shortest), []byte(`\disc\\pid\461\cd\`+HashOf(goodKey)), []byte(`\uoff\\skey\3`))
}

// prove is the game server: it answers that the player in question is still connected.
func prove(_ netip.AddrPort, answer []byte) [][]byte {
	b := append([]byte(nil), answer...)
	crypt(b)
	if !strings.HasPrefix(string(b), `\ison\`) {
		return nil
	}
	_, rest, _ := strings.Cut(string(b), `\skey\`)
	skey, pch, _ := strings.Cut(rest, `\pch\`)
	proof := []byte(`\uon\\skey\` + skey + `\seed\\proof\` + respond(goodKey, pch, 9, true))
	crypt(proof)
	return [][]byte{proof}
}

// Unproved addresses never get more bytes than they sent, in both modes.
func TestFloodFromForgedAddresses(t *testing.T) {
	encode := func(b []byte) []byte {
		b = append([]byte(nil), b...)
		crypt(b)
		return b
	}
	for _, mode := range []string{Permissive, Strict} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Config: defaults(mode), Keys: oneKey{}})
				a := &nettest.Attack{
					Handler: s, To: netip.MustParseAddr("192.0.2.200"), Packets: clientPackets(t), Encode: encode, Reply: prove,
					Count: 20_000, Memory: 64 << 20,
					Exceptions: []nettest.Exception{{ // one more packet, but no more bytes
						Name: "questions", Is: func(b []byte) bool { return bytes.HasPrefix(encode(b), []byte(`\ison\`)) },
						More: func(in nettest.Account) (packets, size int) { return in.PacketsIn, 0 },
					}},
				}
				a.Pass = func() {
					time.Sleep(50 * time.Millisecond)
					s.send(a, netip.Addr{}, s.table.tick(time.Now()))
				}
				if r := a.Run(t); r.Total.PacketsOut == 0 {
					t.Error("nothing was answered")
				}
			})
		})
	}
}
