package unreal2

import (
	"encoding/hex"
	"fmt"
	"testing"
)

// The answers were read by quakestat and gamedig.
const (
	info    = "80000000000000000000611e0000000000000c5465737420555432303034000a444d2d52616e6b696e000c7844656174684d617463680002000000100000000a00000000000000023300"
	rules   = "80000000010d47616d6550617373776f7264000646616c736500084d757461746f72000b44656661756c744d7574000e53657276657256657273696f6e00053333363900"
	players = "80000000020100000006416c69636500320000000c000000000000000200000005426f74310000000000ffffffff00000000"
)

func text(t testing.TB, packet string, want Kind) []byte {
	t.Helper()
	b, err := hex.DecodeString(packet)
	if err != nil {
		t.Fatal(err)
	}
	version, k, text, ok := Cut(b)
	if !ok || k != want || Game(version) != "ut2004" {
		t.Fatalf("answer of kind %d, version %#x, %v", k, version, ok)
	}
	return text
}

func TestAnswers(t *testing.T) {
	i, err := ParseInfo(text(t, info, KindInfo))
	if want := (Info{7777, "Test UT2004", "DM-Rankin", "xDeathMatch", 2, 16}); i != want || err != nil {
		t.Errorf("info %+v, %v; want %+v", i, err, want)
	}
	if got := fmt.Sprint(ParseRules(text(t, rules, KindRules))); got != "[[GamePassword False] [Mutator DefaultMut] [ServerVersion 3369]]" {
		t.Errorf("rules %s", got)
	}
	if got := fmt.Sprint(ParsePlayers(text(t, players, KindPlayers))); got != "[{Alice 50 12} {Bot1 0 -1}]" {
		t.Errorf("players %s", got)
	}
	if got := hex.EncodeToString(AppendQuestion(nil, KindPlayers)); got != "7900000002" {
		t.Errorf("question %s", got)
	}
}

// Texts may have colours, two bytes a letter, and a byte too many; teams are no players.
func TestTexts(t *testing.T) {
	r := reader{b: []byte("\x06\x1b\x01\x02\x03ab" + "\x83\x01\xe4\x00\x41\x00\x00\x00" + "\x82b\x00\x00\x00" + "\x00" + "\x05cut")}
	for _, want := range []string{"ab", "\u00e4A", "b", "", ""} {
		if got := r.text(); got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
	if !r.bad {
		t.Error("a text that is cut was read")
	}
	team := []byte("\x00\x00\x00\x00\x04Red\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00")
	if list := ParsePlayers(team); len(list) != 0 {
		t.Errorf("a team is the player %v", list)
	}
}

// FuzzAnswer reads a packet as every kind of answer.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{info, rules, players} {
		b, _ := hex.DecodeString(s)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		_, _, text, ok := Cut(p)
		if !ok {
			return
		}
		_, _ = ParseInfo(text)
		if n := len(ParseRules(text)); n > maxItems || 2*n > len(text) {
			t.Errorf("%d rules in %d bytes", n, len(text))
		}
		if n := len(ParsePlayers(text)); n > maxItems || 17*n > len(text) {
			t.Errorf("%d players in %d bytes", n, len(text))
		}
	})
}
