package valvemaster

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
)

func TestDroppedPacketsAreExplained(t *testing.T) {
	for name, tt := range map[string]struct{ packet, want string }{
		"too long":  {strings.Repeat("x", maxPacket+1), "packet too long"},
		"Quake III": {"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n", "wrong port: speaks Quake III's protocol"},
		"QR2":       {"\x03abcdlocalip0\x00192.168.1.5\x00gamename\x00gmtest\x00\x00", "wrong port: speaks GameSpy's protocol"},
		"QR1":       {`\heartbeat\26900\gamename\gmtest`, "wrong port: speaks GameSpy's older protocol"},
		"unknown":   {"zzz", "packet not understood"},
		"nothing":   {"", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newValve(t, nil)
			a, known := netip.MustParseAddrPort("192.0.2.1:27015"), v.register("192.0.2.2:27015", someRules)
			before := v.verdict(known)
			for _, from := range []netip.AddrPort{a, known} {
				v.ServePacket(v.w, netserve.Packet{Data: []byte(tt.packet), From: from, To: masterAddr})
			}
			if got := v.verdict(a); got != tt.want {
				t.Errorf("verdict: got %q, want %q", got, tt.want)
			}
			if got := v.verdict(known); got != before {
				t.Errorf("verdict on a known server after such a packet: got %q, want %q", got, before)
			}
		})
	}
}
