package idtech4

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

var server = netip.MustParseAddrPort("192.0.2.10:27666")

// samples are messages with the bytes after their words. They were made from the
// layout, not recorded; the first two are the examples of public descriptions.
var samples = map[string]struct {
	message []byte
	wire    string
}{
	"request":   {Request{Protocol: 1<<16 + 41}.AppendTo(nil), "\xff\xffgetServers\x00\x29\x00\x01\x00\x00\x00"},
	"list":      {AppendLists(nil, []netip.AddrPort{server})[0], "\xff\xffservers\x00\xc0\x00\x02\x0a\x12\x6c"},
	"quake 4":   {Request{Protocol: 2<<16 + 85, Mod: []byte("q4max")}.AppendTo(nil), "\xff\xffgetServers\x00\x55\x00\x02\x00q4max\x00\x00\x00\x00"},
	"heartbeat": {AppendHeartbeat(nil), "\xff\xffheartbeat\x00"},
	"question":  {AppendGetInfo(nil, 0x04030201), "\xff\xffgetInfo\x00\x01\x02\x03\x04"},
	"info": {
		Info{
			Challenge: 7, Protocol: 1<<16 + 41, Pairs: []Pair{{[]byte("si_name"), []byte("Mars")}},
			Players: []Player{{Number: 3, Ping: 40, Rate: 16000, Name: []byte("Ann")}}, Systems: 7,
		}.AppendTo(nil),
		"\xff\xffinfoResponse\x00\x07\x00\x00\x00\x29\x00\x01\x00si_name\x00Mars\x00\x00\x00\x03\x28\x00\x80\x3e\x00\x00Ann\x00\x20\x07\x00\x00\x00",
	},
	"key": {
		Keys{Protocol: 1<<16 + 41, Server: server, Key: []byte("ABCD")}.AppendTo(nil),
		"\xff\xffclAuth\x00\x29\x00\x01\x00\xc0\x00\x02\x0a\x12\x6c\x00ABCD\x00\x00",
	},
	"key answer": {AppendAuthKey(nil, "guid"), "\xff\xffauthKey\x00\x01guid\x00"},
	"check": {
		Check{Protocol: 1<<16 + 41, Player: server, Client: 2, GUID: []byte("guid"), Expansion: 1}.AppendTo(nil),
		"\xff\xffsrvAuth\x00\x29\x00\x01\x00\xc0\x00\x02\x0a\x12\x6c\x02\x00\x00\x00guid\x00\x01",
	},
	"early check": {
		Check{Protocol: 1<<16 + 41, Player: server, Client: -1}.AppendTo(nil),
		"\xff\xffsrvAuth\x00\x29\x00\x01\x00\xc0\x00\x02\x0a\x12\x6c\xff\xff\xff\xff\x00",
	},
	"verdict": {
		Verdict{Reply: Accepted, Client: -1, Player: server}.AppendTo(nil),
		"\xff\xffauth\x00\x01\xff\xff\xc0\x00\x02\x0a\x12\x6c\x00",
	},
}

func TestSamples(t *testing.T) {
	for name, s := range samples {
		if string(s.message) != s.wire {
			t.Errorf("%s: %q, want %q", name, s.message, s.wire)
		}
		again(t, []byte(s.wire), true)
	}
}

// again parses a message, writes the result and compares both.
func again(t *testing.T, p []byte, must bool) {
	t.Helper()
	kind, rest, ok := Cut(p)
	var b []byte
	var err error
	same := func(v any, parse func([]byte) (any, error)) {
		if _, rest, _ := Cut(b); err == nil {
			if got, err := parse(rest); err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%+v became %+v, %v", v, got, err)
			}
		}
	}
	switch kind {
	case KindGetServers:
		var v Request
		if v, err = ParseRequest(rest); err == nil {
			b = v.AppendTo(nil)
			same(v, func(p []byte) (any, error) { return ParseRequest(p) })
		}
	case KindServers:
		var v []netip.AddrPort
		if v, err = ParseList(nil, rest); err == nil && len(v) < 100 {
			b = AppendLists(nil, v)[0]
			same(v, func(p []byte) (any, error) { return ParseList(nil, p) })
		}
	case KindInfo:
		var v Info
		if v, err = ParseInfo(rest); err == nil {
			b = v.AppendTo(nil)
			same(v, func(p []byte) (any, error) { return ParseInfo(p) })
			_, _ = v.Rules()
		}
	case KindClAuth, KindGameAuth:
		var v Keys
		if v, err = ParseKeys(rest, kind == KindGameAuth); err == nil && (len(v.XP) > 0 || v.Game || v.XP == nil) {
			b = v.AppendTo(nil)
			same(v, func(p []byte) (any, error) { return ParseKeys(p, kind == KindGameAuth) })
		}
	case KindSrvAuth:
		var v Check
		if v, err = ParseCheck(rest); err == nil {
			b = v.AppendTo(nil)
			same(v, func(p []byte) (any, error) { return ParseCheck(p) })
		}
	case KindAuth:
		var v Verdict
		if v, err = ParseVerdict(rest); err == nil {
			b = v.AppendTo(nil)
			same(v, func(p []byte) (any, error) { return ParseVerdict(p) })
		}
	case KindAuthKey:
		_, _, err = ParseAuthKey(rest)
	case KindGetInfo:
		_, err = Challenge(rest)
	default:
	}
	if must && (err != nil || !ok || kind == KindOther) {
		t.Errorf("%q: kind %d, %v", p, kind, err)
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s.wire))
	}
	f.Fuzz(func(t *testing.T, p []byte) { again(t, p, false) })
}

func TestShortMessages(t *testing.T) {
	for name, s := range samples {
		_, rest, _ := Cut([]byte(s.wire))
		for n := range rest {
			again(t, []byte(s.wire[:len(s.wire)-len(rest)+n]), false) // no panic
		}
		_ = name
	}
	if _, err := ParseInfo(append(make([]byte, 8), strings.Repeat("a\x00b\x00", MaxPairs+1)...)); err == nil {
		t.Error("more pairs than are allowed")
	}
	if i, err := ParseInfo(append(make([]byte, 10), bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0}, MaxPlayers+1)...)); err != nil || len(i.Players) != 0 {
		t.Errorf("more players than are allowed: %d, %v", len(i.Players), err)
	}
	if _, err := ParseKeys(append(make([]byte, 11), strings.Repeat("k", maxKey+1)+"\x00\x00"...), false); err == nil {
		t.Error("a key that is too long")
	}
	if _, err := ParseKeys(append(make([]byte, 11), strings.Repeat("k", maxKey)+"\x00\x00"...), false); err != nil {
		t.Errorf("the longest key: %v", err)
	}
	if _, err := ParseRequest(append(make([]byte, 4), strings.Repeat("m", MaxText+1)+"\x00\x00"...)); err == nil {
		t.Error("a mod that is too long")
	}
}

func TestListsFit(t *testing.T) {
	const fit = (MaxList - len("\xff\xffservers\x00")) / entryLen
	for n, want := range map[int]int{0: 1, fit: 1, fit + 1: 2} {
		packets := AppendLists(nil, make([]netip.AddrPort, n))
		if n > 0 {
			list := make([]netip.AddrPort, n)
			for i := range list {
				list[i] = server
			}
			packets = AppendLists(nil, list)
		}
		if len(packets) != want || len(packets[0]) > MaxList {
			t.Errorf("%d servers: %d packets of %d bytes, want %d", n, len(packets), len(packets[0]), want)
		}
	}
}

func TestGUIDOf(t *testing.T) {
	a, b := GUIDOf([]byte("ABCDABCDABCDABCD")), GUIDOf([]byte("ABCDABCDABCDABCE"))
	if len(a) != MaxGUID || a == b || a != GUIDOf([]byte("ABCDABCDABCDABCD")) {
		t.Errorf("names %q and %q", a, b)
	}
}

func TestProtocol(t *testing.T) {
	for p, text := range map[Protocol]string{1<<16 + 41: "1.41", 2<<16 + 85: "2.85", 0xffffffff: "65535.65535"} {
		if got, ok := ParseProtocol(text); !ok || got != p || p.String() != text {
			t.Errorf("%s: %v %v, %v", text, got, ok, p)
		}
	}
	for _, text := range []string{"", "1", "1.", ".1", "65536.0", "1.x", "-1.1"} {
		if _, ok := ParseProtocol(text); ok {
			t.Errorf("%q is a protocol", text)
		}
	}
	r, err := ParseRequest(append(binary.LittleEndian.AppendUint32(nil, 1<<31|2<<16|85), 0, 0, 0, 0))
	if err != nil || r.Protocol != 2<<16+85 {
		t.Errorf("a request of another program: %v, %v", r.Protocol, err)
	}
}
