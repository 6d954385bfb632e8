package valvemaster

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/nettest"
)

var compareAddresses = cmpopts.EquateComparable(netip.AddrPort{})

// bodyOf returns the part after the kind, which must be k.
func bodyOf(t testing.TB, p []byte, k Kind) []byte {
	t.Helper()
	got, body, ok := ParseKind(p)
	if !ok || got != k {
		t.Fatalf("ParseKind(%q) = %q, %v, want %q", p, got, ok, k)
	}
	return body
}

func TestChallengeRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		packet string
		want   ChallengeRequest
		bad    bool
	}{
		"the kind alone":        {"71", ChallengeRequest{}, false},
		"with its mark":         {"71 ff", ChallengeRequest{}, false},
		"with a nonce":          {"71 ff 01 02 03 04", ChallengeRequest{0x04030201, true}, false},
		"with a prefix":         {"ff ff ff ff 71", ChallengeRequest{}, false},
		"with a line end":       {"71 0a 00", ChallengeRequest{}, false},
		"mark and line end":     {"71 ff 0a", ChallengeRequest{}, false},
		"a nonce cut off":       {"71 ff 01 02 03", ChallengeRequest{}, true},
		"more than a nonce":     {"71 ff 01 02 03 04 05", ChallengeRequest{}, true},
		"something else behind": {"71 41", ChallengeRequest{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseChallengeRequest(bodyOf(t, nettest.Unhex(t, tc.packet), KindChallengeRequest))
			if got != tc.want || (err != nil) != tc.bad {
				t.Errorf("ParseChallengeRequest(%s) = %+v, %v, want %+v, error %v", tc.packet, got, err, tc.want, tc.bad)
			}
		})
	}
}

func TestChallenge(t *testing.T) {
	for packet, want := range map[string]Challenge{
		"ff ff ff ff 73 0a 78 56 34 12":             {Challenge: 0x12345678},
		"ff ff ff ff 73 0a 78 56 34 12 01 02 03 04": {Challenge: 0x12345678, Nonce: 0x04030201, HasNonce: true},
	} {
		p := nettest.Unhex(t, packet)
		got, err := ParseChallenge(p)
		if got != want || err != nil {
			t.Errorf("ParseChallenge(%s) = %+v, %v, want %+v", packet, got, err, want)
		}
		if again := got.AppendTo(nil); !bytes.Equal(again, p) || len(again) > maxChallenge {
			t.Errorf("Challenge.AppendTo = %x, want %x", again, p)
		}
		for n := range p {
			if _, err := ParseChallenge(p[:n]); err == nil && n != 10 {
				t.Errorf("ParseChallenge of the first %d bytes: no error", n)
			}
		}
	}
}

const sourceHeartbeat = "0\n" + `\protocol\7\challenge\3735928559\players\5\max\24\bots\2\gamedir\cstrike\map\de_dust2` +
	`\password\0\os\l\lan\0\region\3\gameport\27015\specport\27020\dedicated\1\appid\240\type\d\secure\1\version\1.0.0.34\product\cstrike` + "\n"

func TestHeartbeat(t *testing.T) {
	want := Heartbeat{
		Challenge: 3735928559, Protocol: 7, Players: 5, MaxPlayers: 24, Bots: 2, GameDir: []byte("cstrike"), Map: []byte("de_dust2"),
		Type: []byte("d"), OS: []byte("l"), Secure: true, Version: []byte("1.0.0.34"), Product: []byte("cstrike"), Region: RegionEurope,
	}
	got, err := ParseHeartbeat(bodyOf(t, []byte(sourceHeartbeat), KindHeartbeat))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ParseHeartbeat: %v (-want +got):\n%s", err, diff)
	}
	for name, tc := range map[string]struct {
		text string
		want Heartbeat
		bad  bool
	}{
		"GoldSource, a challenge with a sign": {
			"0\n" + `\protocol\48\challenge\-2\players\0\max\32\bots\0\gamedir\valve\map\crossfire\type\d\password\1\os\w\secure\0\lan\1\version\1.1.2.7/Stdio\region\255\product\valve` + "\n",
			Heartbeat{
				Challenge: 0xFFFFFFFE, Protocol: 48, MaxPlayers: 32, GameDir: []byte("valve"), Map: []byte("crossfire"), Type: []byte("d"),
				OS: []byte("w"), Password: true, LAN: true, Version: []byte("1.1.2.7/Stdio"), Product: []byte("valve"), Region: AnyRegion,
			},
			false,
		},
		"the challenge alone":            {`0\challenge\1`, Heartbeat{Challenge: 1, Region: AnyRegion}, false},
		"numbers that make no sense":     {`0\challenge\1\players\-5\max\x\bots\99999999999\region\256`, Heartbeat{Challenge: 1, Region: AnyRegion}, false},
		"a key without a value":          {`0\challenge\1\map`, Heartbeat{Challenge: 1, Map: []byte{}, Region: AnyRegion}, false},
		"no challenge":                   {`0\protocol\7`, Heartbeat{}, true},
		"two challenges":                 {`0\challenge\1\challenge\2`, Heartbeat{}, true},
		"a challenge that is no number":  {`0\challenge\x`, Heartbeat{}, true},
		"a challenge of more than 4 GiB": {`0\challenge\4294967296`, Heartbeat{}, true},
		"nothing":                        {"0\n", Heartbeat{}, true},
		"not a pair":                     {"0\nchallenge 1", Heartbeat{}, true},
		"a challenge behind too much":    {"0" + strings.Repeat(`\a\b`, maxPairs) + `\challenge\1`, Heartbeat{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseHeartbeat(bodyOf(t, []byte(tc.text), KindHeartbeat))
			if (err != nil) != tc.bad {
				t.Fatalf("ParseHeartbeat(%q): %v, want error %v", tc.text, err, tc.bad)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" && !tc.bad {
				t.Errorf("ParseHeartbeat(%q) (-want +got):\n%s", tc.text, diff)
			}
		})
	}
	if _, err := (Heartbeat{Map: []byte(`a\b`)}).AppendTo(nil); err == nil {
		t.Error("AppendTo with a backslash in a value: no error")
	}
}

func TestGoodbye(t *testing.T) {
	for packet, want := range map[string]Goodbye{
		"b":                          {},
		"b\n":                        {},
		"b\n\x00":                    {},
		"b\n\\challenge\\4294967295": {0xFFFFFFFF, true},
	} {
		got, err := ParseGoodbye(bodyOf(t, []byte(packet), KindGoodbye))
		if got != want || err != nil {
			t.Errorf("ParseGoodbye(%q) = %+v, %v, want %+v", packet, got, err, want)
		}
		if again, err := ParseGoodbye(bodyOf(t, got.AppendTo(nil), KindGoodbye)); again != got || err != nil {
			t.Errorf("good-bye %+v became %+v, %v", got, again, err)
		}
	}
	for _, packet := range []string{"bye", "b\n\\challenge\\", "b\n\\challenge\\x", "b\n\\map\\x"} {
		if got, err := ParseGoodbye([]byte(packet[1:])); err == nil {
			t.Errorf("ParseGoodbye(%q) = %+v, want an error", packet, got)
		}
	}
}

func TestListRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		packet string
		region byte
		seed   string
		filter string
		bad    bool
	}{
		"first page":                   {"1\xff0.0.0.0:0\x00\x00", AnyRegion, "0.0.0.0:0", "", false},
		"next page with a filter":      {"1\x03192.0.2.1:27015\x00\\gamedir\\tf\x00", RegionEurope, "192.0.2.1:27015", `\gamedir\tf`, false},
		"qstat without a filter":       {"1\xff127.0.0.1:40001r\x00", AnyRegion, "127.0.0.1:40001", "", false},
		"qstat, a digit where NUL was": {"1\xff127.0.0.1:400017\x00", AnyRegion, "127.0.0.1:40001", "", false},
		"filter without an end":        {"1\xff0.0.0.0:0\x00\\map\\x", AnyRegion, "0.0.0.0:0", `\map\x`, false},
		"no filter at all":             {"1\xff0.0.0.0:0\x00", AnyRegion, "0.0.0.0:0", "", false},
		"with a prefix":                {"\xff\xff\xff\xff1\xff0.0.0.0:0\x00\x00", AnyRegion, "0.0.0.0:0", "", false},
		"behind the filter":            {"1\xff0.0.0.0:0\x00\\map\\x\x00\\map\\y", AnyRegion, "0.0.0.0:0", `\map\x`, false},
		"seed without an end":          {"1\xff0.0.0.0:0", 0, "", "", true},
		"no seed":                      {"1\xff\x00\x00", 0, "", "", true},
		"the old form with a number":   {"1\x00\x00\x00\x00", 0, "", "", true},
		"a number too large":           {"1\xff0.0.0.256:0\x00", 0, "", "", true},
		"a port too large":             {"1\xff0.0.0.0:65536\x00", 0, "", "", true},
		"three numbers":                {"1\xff0.0.0:1\x00", 0, "", "", true},
		"a name":                       {"1\xffexample.org:1\x00", 0, "", "", true},
		"text behind the seed":         {"1\xff0.0.0.0:0xy\x00", 0, "", "", true},
		"the kind alone":               {"1", 0, "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseListRequest(bodyOf(t, []byte(tc.packet), KindListRequest))
			if tc.bad {
				if err == nil {
					t.Errorf("ParseListRequest(%q) = %+v, want an error", tc.packet, got)
				}
				return
			}
			if err != nil || got.Region != tc.region || got.Seed.String() != tc.seed || string(got.Filter) != tc.filter {
				t.Errorf("ParseListRequest(%q) = %+v, %v, want region %d, seed %s, filter %q", tc.packet, got, err, tc.region, tc.seed, tc.filter)
			}
		})
	}
}

func TestList(t *testing.T) {
	p := nettest.Unhex(t, "ff ff ff ff 66 0a c0 00 02 01 69 87 c6 33 64 07 00 01 00 00 00 00 00 00")
	want := List{[]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:27015"), netip.MustParseAddrPort("198.51.100.7:1")}, true}
	got, err := ParseList(p)
	if diff := cmp.Diff(want, got, compareAddresses); diff != "" || err != nil {
		t.Errorf("ParseList: %v (-want +got):\n%s", err, diff)
	}
	if again := got.AppendTo(nil); !bytes.Equal(again, p) {
		t.Errorf("List.AppendTo = %x, want %x", again, p)
	}
	for n := range p {
		if l, err := ParseList(p[:n]); err == nil && (n < 6 || n%6 != 0 || l.Last) {
			t.Errorf("ParseList of the first %d bytes: %+v", n, l)
		}
	}
	if _, err := ParseList(append(p, p[6:12]...)); err == nil {
		t.Error("ParseList with a server behind the end: no error")
	}
	if got := len(List{make([]netip.AddrPort, 0), true}.AppendTo(nil)); got != 12 {
		t.Errorf("an empty list has %d bytes, want 12", got)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte("q"))
	f.Add([]byte("q\xff\x01\x02\x03\x04"))
	f.Add([]byte(sourceHeartbeat))
	f.Add([]byte("1\xff127.0.0.1:40001r\x00"))
	f.Add([]byte("1\x03192.0.2.1:27015\x00\\gamedir\\tf\x00"))
	f.Add([]byte("\xff\xff\xff\xffs\n1234"))
	f.Add([]byte("\xff\xff\xff\xfff\n\x7f\xcd\x34\xab\x12\x08\x64\x40\x00\x00\x69\x87"))
	f.Add([]byte("\xff\xff\xff\xfff\n\x7f\x00\x00\x01\x69\x87\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if c, err := ParseChallenge(p); err == nil && !bytes.Equal(c.AppendTo(nil), p) {
			t.Errorf("challenge %x became %x", p, c.AppendTo(nil))
		}
		if l, err := ParseList(p); err == nil && !bytes.Equal(l.AppendTo(nil), p) {
			t.Errorf("list %x became %x", p, l.AppendTo(nil))
		}
		if l, err := ParseKeyedList(p); err == nil && !bytes.Equal(l.AppendTo(nil), p) {
			t.Errorf("keyed list %x became %x", p, l.AppendTo(nil))
		}
		_, body, ok := ParseKind(p)
		if !ok {
			return
		}
		if r, err := ParseChallengeRequest(body); err == nil {
			if again, err := ParseChallengeRequest(r.AppendTo(nil)[1:]); err != nil || again != r {
				t.Errorf("challenge request %+v became %+v, %v", r, again, err)
			}
		}
		if g, err := ParseGoodbye(body); err == nil {
			if again, err := ParseGoodbye(g.AppendTo(nil)[1:]); err != nil || again != g {
				t.Errorf("good-bye %+v became %+v, %v", g, again, err)
			}
		}
		if r, err := ParseListRequest(body); err == nil {
			again, err := ParseListRequest(r.AppendTo(nil)[1:])
			if diff := cmp.Diff(r, again, compareAddresses, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("list request, %v (-want +got):\n%s", err, diff)
			}
		}
		if h, err := ParseHeartbeat(body); err == nil {
			b, err := h.AppendTo(nil)
			if err != nil {
				return // a control character in a value
			}
			again, err := ParseHeartbeat(b[1:])
			if diff := cmp.Diff(h, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("heartbeat, %v (-want +got):\n%s", err, diff)
			}
		}
	})
}
