package natneg

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/internal/netserve"
)

func markedCheck(cookie uint32) []byte {
	return Check{Test{PortType: PortNN1}}.AppendMarkedTo(Header{3, TypeAddressCheck, cookie}.AppendTo(nil))
}

func TestAbilities(t *testing.T) {
	for name, tt := range map[string]struct {
		second string
		at     []string
		assume bool
		want   Abilities
	}{
		"one address":                  {"198.51.100.1:40000", []string{"198.51.100.1:27901"}, false, Abilities{40000, false, true}},
		"one address, assumed open":    {"198.51.100.1:40000", []string{"198.51.100.1:27901"}, true, Abilities{40000, false, true}},
		"no second socket":             {"", []string{"198.51.100.1:27901"}, false, Abilities{}},
		"two addresses":                {"198.51.100.1:40000", []string{"198.51.100.1:27901", "198.51.100.2:27901"}, false, Abilities{40000, true, true}},
		"three addresses":              {"198.51.100.1:40000", []string{"198.51.100.1:27901", "198.51.100.2:27901", "198.51.100.3:27901"}, false, Abilities{40000, true, true}},
		"three addresses, second on 0": {"0.0.0.0:40000", []string{"198.51.100.1:27901", "198.51.100.2:27901", "198.51.100.3:27901"}, false, Abilities{40000, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opt := DefaultOptions()
				opt.AssumeUnrestricted = tt.assume
				st := newStation(t, opt, tt.second, tt.at...)
				if d := st.deliver(0, "192.0.2.1:5000", markedCheck(0)); d != notDropped {
					t.Fatalf("dropped: %v", d)
				}
				sent := st.of(TypeAddressReply, "192.0.2.1:5000")
				if len(sent) != 1 {
					t.Fatalf("%d answers, want 1", len(sent))
				}
				_, body, _ := ParseHeader(sent[0].data)
				reply, _ := ParseAddressReply(body)
				got, ok := ParseAbilities(body)
				if !ok || got != tt.want || reply.Seen != netip.MustParseAddrPort("192.0.2.1:5000") {
					t.Errorf("got %+v, %v, seen at %v; want %+v", got, ok, reply.Seen, tt.want)
				}
			})
		})
	}
}

// Games send no mark and get the answer of old. A request that is just long enough for
// the mark is still longer than its answer.
func TestAbilitiesOnlyForTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "198.51.100.1:40000")
		whole := markedCheck(0)
		least := headerSize + longBody + len(checkMark)
		for name, tt := range map[string]struct {
			data []byte
			want int
		}{
			"a game's":           {Check{Test{PortType: PortNN1}}.AppendTo(Header{3, TypeAddressCheck, 0}.AppendTo(nil)), maxAnswer},
			"the mark cut short": {whole[:least-1], maxAnswer},
			"only the mark":      {whole[:least], maxAnswer + abilitiesSize},
			"whole":              {whole, maxAnswer + abilitiesSize},
		} {
			st.deliver(0, "192.0.2.1:5000", tt.data)
			sent := st.of(TypeAddressReply, "192.0.2.1:5000")
			if len(sent) != 1 || len(sent[0].data) != tt.want || len(sent[0].data) > len(tt.data) {
				t.Errorf("%s: %d bytes were answered with %v, want %d", name, len(tt.data), sent, tt.want)
			}
		}
	})
}

func TestSecondSocketAnswersOnlyChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStation(t, DefaultOptions(), "198.51.100.1:40000")
		deliver := func(data []byte) []sent {
			secondHandler{st.Server}.ServePacket(wire{st.post, -1}, netserve.Packet{
				Data: data, From: netip.MustParseAddrPort("192.0.2.1:5000"), To: serverAddr,
			})
			return st.post.Take()
		}
		got := deliver(markedCheck(3))
		if len(got) != 1 || got[0].socket != -1 || got[0].header(t).Cookie != 3 {
			t.Errorf("an address check: sent %v, want an answer from the second socket", got)
		}
		for name, data := range map[string][]byte{
			"an init":      initPacket(77, 0, PortNN1),
			"a NAT test":   Check{Test{PortType: PortNN3}}.AppendTo(Header{3, TypeNATTest, cookieNATTest}.AppendTo(nil)),
			"a report":     reportPacket(77, 0, 1),
			"its own":      got[0].data,
			"nothing":      nil,
			"half a check": markedCheck(0)[:headerSize+3],
		} {
			if got := deliver(data); len(got) != 0 {
				t.Errorf("%s: sent %v, want nothing", name, got)
			}
		}
	})
}

func FuzzAbilities(f *testing.F) {
	f.Add(Abilities{40000, true, false}.AppendTo(make([]byte, longBody)))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, ok := ParseAbilities(body)
		if ok != (len(body) >= longBody+abilitiesSize) {
			t.Fatalf("%d bytes: ok is %v", len(body), ok)
		}
		if again, _ := ParseAbilities(a.AppendTo(make([]byte, longBody))); ok && again != a {
			t.Errorf("got %+v, then %+v", a, again)
		}
	})
}
