package a2s

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dayZBlock is a block as a server with one DLC and two mods sends it, escaped.
const dayZBlock = "\x01\x01\x01\x02\x01\x01\x01\x02" + "gn(T" + "\x02" +
	"d\x7Fp\x90" + "\x04" + "\x01\x03\x01\x01\x01\x02\xAE" + "\x06" + "Quests" +
	"\x10\x20\x30\x40" + "\x08" + "\x05\x01\x02\x01\x02\x01\x02\x01\x01\x01\x02\x01\x02\x01\x02" + "\x02" + "Zu" +
	"\x01\x01" + "\x04" + "dayz" + "\x07" + "Welcome"

func dayZ() DayZ {
	return DayZ{
		Version: 1, DLC: 1, DLCHashes: []uint32{0x54286E67},
		Mods: []DayZMod{
			{Hash: 0x90707F64, Workshop: 0xAE0001FF, Name: "Quests"},
			{Hash: 0x40302010, Workshop: 0x1_00000005, Name: "Zu"},
		},
		Signatures: []string{"dayz"},
	}
}

func plainRules() []Rule {
	return []Rule{{"allowedBuild", "0"}, {"island", "chernarusplus"}, {"no", "two letters, and no piece"}}
}

// inPieces puts a block of n pieces among the plain rules, the last piece first.
func inPieces(block string, n int) []Rule {
	rules := plainRules()[:1]
	for i := n - 1; i >= 0; i-- {
		rules = append(rules, Rule{string([]byte{byte(i + 1), byte(n)}), block[i*len(block)/n : (i+1)*len(block)/n]})
	}
	return append(rules, plainRules()[1:]...)
}

func TestModsOfDayZ(t *testing.T) {
	for _, pieces := range []int{1, 2, 3, 40} { // 40 is a printable byte
		rules := inPieces(dayZBlock, pieces)
		before := slices.Clone(rules)
		got, plain, ok := ParseDayZ(rules)
		if diff := cmp.Diff(dayZ(), got); diff != "" || !ok {
			t.Errorf("%d pieces: ok %v (-want +got):\n%s", pieces, ok, diff)
		}
		if diff := cmp.Diff(plainRules(), plain); diff != "" {
			t.Errorf("%d pieces, plain rules (-want +got):\n%s", pieces, diff)
		}
		if diff := cmp.Diff(before, rules); diff != "" {
			t.Errorf("%d pieces: the rules have changed (-before +after):\n%s", pieces, diff)
		}
	}
}

func TestModsOfDayZBothWays(t *testing.T) {
	for _, mods := range []int{0, 1, 34, 255} {
		want := DayZ{Version: 2, Flags: 3, DLC: 0x8002, DLCHashes: []uint32{1, 0xFFFFFFFF}, Signatures: []string{"", "key"}}
		for i := range mods {
			want.Mods = append(want.Mods, DayZMod{uint32(i) << 24, uint64(i) << 30, fmt.Sprintf("Mod\x00 %d \xFF\x01", i)})
		}
		rules := Rules{List: want.Rules()}
		rules.Count = uint16(len(rules.List))
		sent, err := ParseRules(AppendRules(nil, rules)[headerSize+1:])
		if err != nil {
			t.Fatal(err)
		}
		got, plain, ok := ParseDayZ(sent.List)
		if diff := cmp.Diff(want, got); diff != "" || !ok || len(plain) > 0 {
			t.Errorf("%d mods: ok %v, %d plain rules (-want +got):\n%s", mods, ok, len(plain), diff)
		}
		for _, r := range rules.List {
			if len(r.Value) > dayZPiece {
				t.Errorf("%d mods: a piece of %d bytes", mods, len(r.Value))
			}
		}
	}
}

func TestModsOfDayZWithMissingPieces(t *testing.T) {
	rules := inPieces(dayZBlock, 40)
	for i, r := range rules {
		if len(r.Name) != 2 || r.Name == "no" {
			continue
		}
		got, _, ok := ParseDayZ(slices.Delete(slices.Clone(rules), i, i+1))
		if number := int(r.Name[0]); ok != (number > 5) { // the first five hold version, flags and DLC
			t.Errorf("without piece %d: ok %v, %+v", number, ok, got)
		}
		if ok && !got.Truncated {
			t.Errorf("without piece %d: not truncated: %+v", r.Name[0], got)
		}
		for i, m := range got.Mods {
			if m != dayZ().Mods[i] {
				t.Errorf("without piece %d: mod %+v", r.Name[0], m)
			}
		}
	}
}

func TestOtherRulesHaveNoMods(t *testing.T) {
	for name, rules := range map[string][]Rule{
		"none":           nil,
		"plain":          plainRules(),
		"empty":          inPieces("", 1),
		"version 0":      inPieces("\x01\x02\x01\x02\x01\x02\x01\x02\x01\x02\x01\x02", 1),
		"version 3":      inPieces("\x03\x01\x02\x01\x02\x01\x02\x01\x02\x01\x02", 1),
		"wide number":    inPieces("\x02\x01\x02\x01\x02\x01\x02\x01\x01"+"abcd\x09abcdefghi", 1),
		"flagged number": inPieces("\x02\x01\x02\x01\x02\x01\x02\x01\x01"+"abcd\x14abcd\x01x\x01\x02", 1),
		"first missing":  {{"\x02\x02", dayZBlock}},
	} {
		got, plain, ok := ParseDayZ(rules)
		if ok || len(got.Mods) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if diff := cmp.Diff(rules, plain); diff != "" {
			t.Errorf("%s: plain rules (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnknownEscapesEndTheBlock(t *testing.T) {
	for _, end := range []string{"\x01", "\x01\x04", "\x01\x00"} {
		got, _, ok := ParseDayZ(inPieces(dayZBlock+end, 1))
		want := dayZ()
		want.Truncated = true
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%q: ok %v (-want +got):\n%s", end, ok, diff)
		}
	}
}

func TestPiecesThatDoNotBelongStayRules(t *testing.T) {
	strange := []Rule{{"\x01\x01", "a second first piece"}, {"\x01\x03", "a piece of three"}, {"\x02\x01", "two of one"}, {"\x00\x01", "none of one"}}
	got, plain, ok := ParseDayZ(append([]Rule{{"\x01\x01", dayZBlock}}, strange...))
	if diff := cmp.Diff(dayZ(), got); diff != "" || !ok {
		t.Errorf("ok %v (-want +got):\n%s", ok, diff)
	}
	if diff := cmp.Diff(strange, plain); diff != "" {
		t.Errorf("plain rules (-want +got):\n%s", diff)
	}
}
