package natneg

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Packets that cannot be read get a verdict: the negotiation that they are part of
// would only look as if the player never came.
func TestUnreadablePackets(t *testing.T) {
	header := func(version byte, kind Type) string {
		return string(Header{Version: version, Type: kind, Cookie: 7}.AppendTo(nil))
	}
	for name, test := range map[string]struct {
		packet string
		want   verdicts.Verdict
	}{
		"short":            {header(3, TypeInit)[:7], verdicts.MalformedRequest},
		"unknown version":  {header(200, TypeInit), verdicts.MalformedRequest},
		"unknown type":     {header(3, 0x7F), verdicts.MalformedRequest},
		"init cut off":     {header(3, TypeInit) + "\x00", verdicts.MalformedRequest},
		"another protocol": {strings.Repeat("x", 40), verdicts.NotUnderstood},
	} {
		t.Run(name, func(t *testing.T) {
			var c Config
			configs.Defaults(&c)
			log := verdicts.NewLog(zerolog.Nop(), 0)
			s := New(Options{Config: c, Peers: part.Peers{Verdicts: log}, Self: part.Self{Log: zerolog.Nop()}})
			from := netip.MustParseAddrPort("192.0.2.1:4000")
			for range 2 {
				s.serve(0, nil, netserve.Packet{Data: []byte(test.packet), From: from})
			}
			got := log.Of(from.Addr())
			if len(got) != 1 || got[0].Verdict != test.want || got[0].Times != 2 || got[0].Addr.Port() != 0 {
				t.Errorf("noted %+v, want %v twice, on the address", got, test.want)
			}
		})
	}
}
