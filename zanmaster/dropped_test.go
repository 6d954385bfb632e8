package zanmaster

import (
	"bytes"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/zandronum"
)

func TestDroppedPacketsAreExplained(t *testing.T) {
	whole := zandronum.AppendVerification(nil, zandronum.Verification{Verification: []byte("0123456789abcdef"), Number: 7})
	long := zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: bytes.Repeat([]byte("x"), maxVerification+1), Complete: true, Enforces: true, Revision: 1761882777,
	})
	for name, tt := range map[string]struct{ packet, want string }{
		"string too long": {string(zandronum.Encode(nil, long)), "malformed heartbeat"},
		"too long":        {strings.Repeat("x", maxPacket+1), "packet too long"},
		"Quake III":       {"\xFF\xFF\xFF\xFFheartbeat DarkPlaces\n", "wrong port: speaks Quake III's protocol"},
		"Valve challenge": {"q", "wrong port: speaks the protocol of Valve's master"},
		"QR2":             {"\x03abcdlocalip0\x00192.168.1.5\x00gamename\x00gmtest\x00\x00", "wrong port: speaks GameSpy's protocol"},
		"QR1":             {`\heartbeat\26900\gamename\gmtest`, "wrong port: speaks GameSpy's older protocol"},
		"unknown kind":    {"\xFFunknown", "packet not understood"},
		"cut off":         {string(zandronum.Encode(nil, whole[:len(whole)-2])), "malformed heartbeat"},
		"nothing":         {"", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			z := newZan(t, nil)
			g, listed := z.server("192.0.2.1:10666"), z.server("192.0.2.2:10666")
			z.ServePacket(z.w, netserve.Packet{Data: []byte(tt.packet), From: g.addr, To: masterAddr})
			if got := z.verdict(g.addr); got != tt.want {
				t.Errorf("verdict: got %q, want %q", got, tt.want)
			}
			listed.register()
			z.ServePacket(z.w, netserve.Packet{Data: []byte(tt.packet), From: listed.addr, To: masterAddr})
			if got := z.verdict(listed.addr); got != "listed" {
				t.Errorf("verdict on a listed server after such a packet: got %q, want listed", got)
			}
		})
	}
}

// Packets of launchers say nothing about a server.
func TestPacketsOfLaunchersAreNoVerdict(t *testing.T) {
	z := newZan(t, nil)
	g := z.server("192.0.2.1:10666")
	for _, packet := range [][]byte{
		zandronum.Encode(nil, zandronum.AppendListRequest(nil, zandronum.ListVersion)), {0xC7}, {0x00},
	} {
		z.ServePacket(z.w, netserve.Packet{Data: packet, From: g.addr, To: masterAddr})
	}
	if got := z.verdict(g.addr); got != "none" {
		t.Errorf("verdict: got %q, want none", got)
	}
}
