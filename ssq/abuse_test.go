package ssq

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/nettest"
	wire "github.com/respawnd/respawnd/internal/ssq"
)

// questions are packets of tools.
func questions() (packets [][]byte) {
	for i, text := range []string{
		"SELECT hostip,hostname,map WHERE numplayers > 0", "SELECT hostip,hostname,x-NAME,x-source", "SP players WHERE hostip = 192.0.2.9:27015",
		"SP x-games", "SP x-servers", "CL LONG", "CL", "VERSION", "PING", "SP ping", "AUTH " + password, "AUTH wrong", "SELECT \\,'x\n\\n' = 1",
		"SELECT hostip X-TOKEN AAAAAAAAAAA", "SELECT x-source IDENTIFIED abc X-TOKEN abc", "nothing", "SELECT",
	} {
		for _, pad := range []int{0, 40, 1000} {
			p := append(wire.Header{ID: byte(i), Count: 1}.AppendTo(nil), text...)
			packets = append(packets, append(p, bytes.Repeat([]byte(" "), pad)...))
		}
		packets = append(packets,
			append(wire.Header{ID: 200, Count: 2}.AppendTo(nil), text[:len(text)/2]...),
			append(wire.Header{ID: 200, Count: 2, Number: 1}.AppendTo(nil), text[len(text)/2:]...))
	}
	return packets
}

// toolReply is a tool's reply to a token.
func toolReply(_ netip.AddrPort, b []byte) [][]byte {
	if len(b) < wire.HeaderLen {
		return nil
	}
	t, err := wire.ParseTable(b[wire.HeaderLen:], nil)
	if err != nil || len(t.Columns) != 1 || t.Columns[0] != wire.TokenColumn || len(t.Rows) != 1 {
		return nil
	}
	return [][]byte{append(wire.Header{ID: 9, Count: 1}.AppendTo(nil), "SELECT hostip,hostname X-TOKEN "+t.Rows[0][0]...)}
}

func TestFloodFromForgedAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.many(300)
		answered := false
		a := &nettest.Attack{
			Handler: f.server, To: netip.MustParseAddr("198.51.100.1"), Packets: questions(), Count: 10_000, Memory: 64 << 20,
			Pass: func() { time.Sleep(50 * time.Millisecond) },
			Reply: func(to netip.AddrPort, b []byte) [][]byte {
				answered = answered || len(b) > 1000
				return toolReply(to, b)
			},
		}
		a.Run(t)
		if !answered {
			t.Error("the attacker's own addresses are not sent the list, although they repeat the token")
		}
	})
}
