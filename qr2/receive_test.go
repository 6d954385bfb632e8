package qr2

import (
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

func TestDroppedPacketsAreExplained(t *testing.T) {
	zan := string(zandronum.Encode(nil, zandronum.AppendChallenge(nil, zandronum.Challenge{
		Verification: []byte("0123456789abcdef0123456789abcdef"), Complete: true, Enforces: true, Revision: 1761882777,
	})))
	for name, tt := range map[string]struct{ packet, want string }{
		"too long":               {"\x03abcd" + strings.Repeat("x", MaxPacket), "packet too long"},
		"Quake III":              {"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n", "wrong port: speaks Quake III's protocol"},
		"Valve challenge":        {"q", "wrong port: speaks the protocol of Valve's master"},
		"Valve heartbeat":        {"0\n\\protocol\\7\\challenge\\5\n", "wrong port: speaks the protocol of Valve's master"},
		"Zandronum":              {zan, "wrong port: speaks Zandronum's protocol"},
		"CD key":                 {";]aC", "wrong port: checks CD keys"},
		"noise":                  {"hello", "packet not understood"},
		"cut off":                {"\x03ab", "packet not understood"},
		"packet of a master":     {"\xFE\xFD\x01abcd", "packet not understood"},
		"keepalive alone":        {"\x08abcd", "sign of life of a server that is not listed"},
		"farewell of a stranger": {"\x03abcdstatechanged\x002\x00gamename\x00gmtest\x00\x00", "left"},
		"heartbeat without game": {"\x03abcdhostname\x00x\x00\x00", "malformed heartbeat"},
		"availability, no game":  {"\x09abcd\x00", "packet not understood"},
		"nothing":                {"", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newIntake(t, nil)
			h := in.host("192.0.2.1:6500")
			in.ServePacket(in.w, netserve.Packet{Data: []byte(tt.packet), From: h.addr, To: masterAddr})
			if got := in.verdict(h.addr); got != tt.want {
				t.Errorf("verdict: got %q, want %q", got, tt.want)
			}
			if tt.want == "malformed heartbeat" { // noted of listed servers too
				return
			}
			listed := in.host("192.0.2.2:6500")
			listed.register()
			in.ServePacket(in.w, netserve.Packet{Data: []byte(tt.packet), From: listed.addr, To: masterAddr})
			if got := in.verdict(listed.addr); got != "listed" {
				t.Errorf("verdict on a listed server after such a packet: got %q, want listed", got)
			}
		})
	}
}

// The reports of a listed server have become too long: it expires, and the reason
// stays in view.
func TestTooLongReportsOfListedServer(t *testing.T) {
	in := newIntake(t, nil)
	h := in.host("192.0.2.1:6500")
	h.register()
	long := netserve.Packet{Data: []byte("\x03abcd" + strings.Repeat("x", MaxPacket)), From: h.addr, To: masterAddr}
	for range 3 {
		in.ServePacket(in.w, long)
	}
	srv, _ := in.list.At(h.addr)
	in.Expired(srv)
	var told []verdicts.Verdict
	for _, e := range in.book.Of(h.addr.Addr()) {
		told = append(told, e.Verdict)
		if e.Verdict == verdicts.TooLong && e.Times != 3 {
			t.Errorf("%d times, want 3", e.Times)
		}
	}
	if want := []verdicts.Verdict{verdicts.Listed, verdicts.TooLong, verdicts.Expired}; !slices.Equal(told, want) || verdicts.Expired.Outdates(verdicts.TooLong) {
		t.Errorf("verdicts %v, want %v, the second with its advice", told, want)
	}
}
