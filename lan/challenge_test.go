package lan

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
)

// challengeAnswer returns the challenge of a server for the last round.
func challengeAnswer(f *Finder, text string) []byte {
	return append(append([]byte{9}, binaryAnswer(f)[1:5]...), text+"\x00"...)
}

// A server that wants its challenge back is asked with it, by itself. One that
// answers without is not asked twice.
func TestChallenges(t *testing.T) {
	f := newFinder(t, nil)
	f.round(netip.Addr{})
	if got := say(f, "192.0.2.12:6500", binaryAnswer(f, "gamename", "new", "hostname", "Plain")); got != "" {
		t.Fatalf("plain answer: %s", got)
	}
	key := binaryAnswer(f)[1:5]
	asked := slices.Concat([]byte{0xFE, 0xFD, 0}, key, []byte{0, 0, 0x30, 0x39, 0xFF, 0xFF, 0xFF})
	for name, tc := range map[string]struct {
		from   string
		packet []byte
		next   []byte
		want   string
	}{
		"a challenge":             {"192.0.2.10:6501", challengeAnswer(f, "12345"), asked, ""},
		"of one that answered":    {"192.0.2.12:6500", challengeAnswer(f, "12345"), nil, ""},
		"of another key":          {"192.0.2.10:6501", []byte("\x09\x01\x02\x03\x0412345\x00"), nil, dropUseless},
		"no number":               {"192.0.2.10:6501", challengeAnswer(f, "x"), nil, dropUseless},
		"of another network":      {"198.51.100.1:6501", challengeAnswer(f, "12345"), nil, dropStranger},
		"of a port not asked":     {"192.0.2.10:9999", challengeAnswer(f, "12345"), nil, dropStranger},
		"of the broadcast itself": {"192.0.2.255:6501", challengeAnswer(f, "12345"), nil, dropStranger},
	} {
		w := &wire{}
		next, dropped := f.take(netserve.Packet{Data: tc.packet, From: netip.MustParseAddrPort(tc.from)}, time.Now())
		if dropped != tc.want || !slices.Equal(next, tc.next) {
			t.Errorf("%s: asked %x, dropped %q, want %x, %q", name, next, dropped, tc.next, tc.want)
		}
		f.ServePacket(w, netserve.Packet{Data: tc.packet, From: netip.MustParseAddrPort(tc.from)})
		if sent := w.Take(); (len(sent) == 1) != (tc.next != nil) || len(sent) == 1 && sent[0].From.String() != tc.from {
			t.Errorf("%s: sent %v", name, sent)
		}
	}
	if got := say(f, "192.0.2.10:6501", binaryAnswer(f, "gamename", "new", "hostname", "Guarded")); got != "" {
		t.Fatalf("answer to the challenge: %s", got)
	}
	if srv, ok := f.opt.Registry.Find(netip.MustParseAddrPort("192.0.2.10:6501")); !ok || srv.Game != "new" {
		t.Errorf("listed as %+v, %v", srv, ok)
	}
}

// netPanzer's servers leave the first backslash out.
func TestTextWithoutTheFirstBackslash(t *testing.T) {
	f := newFinder(t, nil)
	f.round(netip.Addr{})
	if got := say(f, "192.0.2.10:7778", []byte(`gamename\old\hostname\Panzer\final\\queryid\1.1`)); got != "" {
		t.Fatalf("answer: %s", got)
	}
	srv, ok := f.opt.Registry.Find(netip.MustParseAddrPort("192.0.2.10:7778"))
	if name, _ := srv.Rules.Get("hostname"); !ok || name != "Panzer" {
		t.Errorf("listed as %q, %v", name, ok)
	}
}
