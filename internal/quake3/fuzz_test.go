package quake3

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"
)

// FuzzMessage parses a packet as every kind of message and writes it again.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		"heartbeat QuakeArena-1\n", "infoResponse" + openArena, "getservers Xonotic 3 empty full gametype=4", "getserversExt et 84 ipv6",
		"statusResponse\n\\a\\b\n1 2 \"n\"\n", "getinfo x", "getserversResponse\\\x01\x02\x03\x04\x05\x06\\EOT\x00\x00\x00",
	} {
		f.Add([]byte(prefix + s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		kind, rest, ok := Cut(p)
		if !ok {
			return
		}
		if tag, err := ParseHeartbeat(rest); err == nil {
			_, again, _ := Cut(AppendHeartbeat(nil, string(tag)))
			if got, err := ParseHeartbeat(again); err != nil || !bytes.Equal(got, tag) {
				t.Errorf("heartbeat %q, then %q, %v", tag, got, err)
			}
		}
		n := 0
		for key, value := range Pairs(rest) {
			if n++; len(key) == 0 || len(key) > MaxValue || len(value) > MaxValue {
				t.Errorf("pair %q %q", key, value)
			}
		}
		if n > MaxPairs {
			t.Errorf("%d pairs", n)
		}
		if i, err := ParseInfo(rest); err == nil && (i.MaxClients == 0 || len(i.Challenge) == 0) {
			t.Errorf("info %+v", i)
		}
		if s, err := ParseStatus(rest); err == nil && len(s.Players) > MaxPlayers {
			t.Errorf("%d players", len(s.Players))
		}
		for _, ext := range []bool{false, true} {
			r, err := ParseRequest(rest, ext)
			if err != nil {
				continue
			}
			_, again, _ := Cut(r.AppendTo(nil))
			got, err := ParseRequest(again, ext)
			if err != nil || !bytes.Equal(got.Game, r.Game) || got.Protocol != r.Protocol || !bytes.Equal(got.GameType, r.GameType) ||
				got.Empty != r.Empty || got.Full != r.Full || got.IPv4 != r.IPv4 || got.IPv6 != r.IPv6 {
				t.Errorf("request %+v, then %+v, %v", r, got, err)
			}
		}
		if kind == KindServers || kind == KindServersExt {
			list, _, _ := ParseList(nil, rest)
			var again []netip.AddrPort
			for _, p := range AppendLists(nil, list, true) {
				_, rest, _ := Cut(p)
				again, _, _ = ParseList(again, rest)
			}
			if !slices.Equal(list, again) {
				t.Errorf("list %v, then %v", list, again)
			}
		}
	})
}
