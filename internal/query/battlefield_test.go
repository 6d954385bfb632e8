package query

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Messages that gamedig sends and reads.
var (
	battlefieldQuestions = "000000001b000000010000000a000000736572766572496e666f00" +
		"010000001800000001000000" + "0700000076657273696f6e00" + "0200000024000000020000000b0000006c697374506c61796572730003000000616c6c00"
	badCompany = []string{
		"00000040f00000001a000000020000004f4b0008000000546573742042433200010000003100020000003332000400000052555348000d0000004c6576656c732f4d505f30303100010000003000010000003200010000003200050000003130302e30000400000037352e300001000000300000000000000400000074727565000400000074727565000500000066616c7365000400000033363030000300000031323000030000004243320000000000000f0000003132372e302e302e313a3139353637000600000076312e383730000400000074727565000200000045550003000000616d7300020000004e4c00",
		"010000402800000003000000020000004f4b00050000004246424332000600000037393537343500",
		"02000040650000000b000000020000004f4b00010000003400040000006e616d6500060000007465616d4964000500000073636f7265000400000070696e670001000000310005000000416c69636500010000003100030000003530300002000000343000",
	}
)

func battlefieldMessages(t testing.TB) (list [][]byte) {
	t.Helper()
	for _, text := range badCompany {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

func TestBattlefield(t *testing.T) {
	if got := hex.EncodeToString(AppendBattlefield(nil)); got != battlefieldQuestions {
		t.Errorf("the questions:\n got %s\nwant %s", got, battlefieldQuestions)
	}
	var b Battlefield
	stream := bytes.NewReader(bytes.Join(battlefieldMessages(t), nil))
	for i := range badCompany {
		packet, err := ReadBattlefield(stream)
		if err != nil || b.Add(packet) != nil || !b.Enough() || b.Whole() != (i == 2) {
			t.Errorf("message %d: read %v; enough %v, whole %v", i, err, b.Enough(), b.Whole())
		}
	}
	const want = "[{gamename BFBC2} {gamever 795745} {hostname Test BC2} {numplayers 1} {maxplayers 32} {gametype RUSH} {mapname Levels/MP_001}" +
		" {roundsplayed 0} {roundstotal 2} {ranked 1} {punkbuster 1} {password 0} {hostport 19567}] {[player_ team_ score_ ping_] [[Alice 1 500 40]]}"
	if st := b.Status(); fmt.Sprint(st.Rules, st.Players) != want {
		t.Errorf("got %v %v, want %s", st.Rules, st.Players, want)
	}
}

func TestBattlefieldBad(t *testing.T) {
	messages := battlefieldMessages(t)
	for name, tc := range map[string]struct {
		packet []byte
		want   error
	}{
		"nothing":       {nil, errBattlefield},
		"a cut word":    {messages[0][:40], errBattlefield},
		"a cut size":    {messages[0][:battlefieldHead+2], errBattlefield},
		"a question":    {AppendBattlefield(nil)[:27], ErrForeign},
		"another asked": {append([]byte{3}, messages[0][1:]...), ErrForeign},
		"refused":       {[]byte(strings.Replace(string(messages[0]), "OK", "No", 1)), ErrForeign},
	} {
		if err := new(Battlefield).Add(tc.packet); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		head string
		want error
	}{
		"too short": {"0000004004000000" + "00000000", errBattlefield},
		"too long":  {"0000004001000100" + "00000000", errBattlefield},
		"cut":       {"0000004020000000" + "00000000", io.ErrUnexpectedEOF},
		"no head":   {"00000040", io.ErrUnexpectedEOF},
	} {
		b, _ := hex.DecodeString(tc.head)
		if name == "cut" {
			b = append(b, 1)
		}
		if _, err := ReadBattlefield(bytes.NewReader(b)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func FuzzBattlefield(f *testing.F) {
	for _, m := range battlefieldMessages(f) {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		var b Battlefield
		if b.Add(packet) != nil && b.has != [...]bool{false, false, false} {
			t.Error("an error, and an answer")
		}
		st := b.Status()
		for _, row := range st.Players.Rows {
			if len(row) != len(st.Players.Columns) {
				t.Errorf("%d cells in %d columns", len(row), len(st.Players.Columns))
			}
		}
		if len(st.Players.Rows) > MaxRows {
			t.Errorf("%d rows", len(st.Players.Rows))
		}
	})
}
