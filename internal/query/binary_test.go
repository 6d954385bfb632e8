package query

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// answerBody is a binary answer without its header.
func answerBody(t testing.TB) []byte {
	t.Helper()
	b := gamespy.AppendPair(nil, "gamename", "gmtest")
	b = gamespy.AppendPair(b, "hostname", "Test Server")
	b = gamespy.AppendPair(b, "password", "")
	b = gamespy.AppendEnd(b)
	b, err := gamespy.AppendTable(b, []string{"player_", "score_"}, [][]string{{"Ann", "1"}, {"Bob", ""}})
	if err == nil {
		b, err = gamespy.AppendTable(b, []string{"team_t"}, [][]string{{"Red"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func answerStatus() Status {
	return Status{
		Rules:   []Field{{"gamename", "gmtest"}, {"hostname", "Test Server"}, {"password", ""}},
		Players: Table{[]string{"player_", "score_"}, [][]string{{"Ann", "1"}, {"Bob", ""}}},
		Teams:   Table{[]string{"team_t"}, [][]string{{"Red"}}},
	}
}

func TestBinaryAnswer(t *testing.T) {
	got, err := ParseAnswer(answerBody(t))
	if diff := cmp.Diff(answerStatus(), got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	whole := answerBody(t)
	for n := range whole { // cut anywhere
		if _, err := ParseAnswer(whole[:n]); err != nil {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := ParseAnswer(make([]byte, MaxAnswer+1)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("too long: %v", err)
	}
	if _, err := ParseAnswer(bytes.Repeat([]byte("a\x00b\x00"), gamespy.MaxFields+1)); !errors.Is(err, gamespy.ErrTooManyFields) {
		t.Errorf("too many: %v", err)
	}
}

func TestQueriesAsBrowsersSendThem(t *testing.T) {
	for want, got := range map[string][]byte{
		"fefd096d61befa":                 AppendChallengeQuery(nil, 0x6d61befa),
		"fefd007f61befaffffff":           AppendQuery(nil, 0x7f61befa, 0, false),
		"fefd007f61befa2a45fdbcffffff01": AppendQuery(nil, 0x7f61befa, 0x2a45fdbc, true),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("query %x, want %s", got, want)
		}
	}
}

func TestChallengesOfServers(t *testing.T) {
	for text, want := range map[string]uint32{"709230012\x00": 0x2a45fdbc, "-1002570049\x00": 0xC43DFEBF, "0\x00": 0, "0": 0, "4294967295\x00": 0xFFFFFFFF} {
		if got, ok := parseChallenge([]byte(text)); !ok || got != want {
			t.Errorf("parseChallenge(%q) = %#x, %v; want %#x", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "\x00", "abc\x00", "4294967296\x00", "-2147483649\x00"} {
		if got, ok := parseChallenge([]byte(text)); ok {
			t.Errorf("parseChallenge(%q) = %d, want none", text, got)
		}
	}
}

// splitBodies is the answer in two packets. The first one cuts a value.
func splitBodies() [][]byte {
	return [][]byte{
		[]byte("splitnum\x00\x00\x00gamename\x00gmtest\x00hostname\x00Test Server\x00password\x00\x00\x00\x01player_\x00\x00Ann\x00Bo\x00"),
		[]byte("splitnum\x00\x81\x01player_\x00\x01Bob\x00\x00score_\x00\x001\x00\x00\x00\x02team_t\x00\x00Red\x00\x00\x00"),
	}
}

func TestSplitAnswerInAnyOrder(t *testing.T) {
	for name, order := range map[string][]int{"in order": {0, 1}, "out of order": {1, 0}, "repeated": {0, 0, 1}} {
		e := NewExchange(BinaryChallenged, 7)
		step := take(t, e, append(header(kindChallenge, 7), "12\x00"...))
		if step != Ask || hex.EncodeToString(e.Question()) != "fefd00000000070000000cffffff01" {
			t.Fatalf("%s: after the challenge: step %d, question %x", name, step, e.Question())
		}
		for _, i := range order {
			step = take(t, e, append(header(kindQuery, 7), splitBodies()[i]...))
		}
		if diff := cmp.Diff(answerStatus(), e.Status()); step != Done || diff != "" {
			t.Errorf("%s: step %d (-want +got):\n%s", name, step, diff)
		}
	}
}

func header(kind byte, key uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{kind}, key)
}

func take(t *testing.T, e *Exchange, packet []byte) Step {
	t.Helper()
	step, err := e.Take(packet)
	if err != nil {
		t.Fatalf("Take(%q): %v", packet, err)
	}
	return step
}

func TestExchangesOfEveryKind(t *testing.T) {
	body := func() []byte { return append(header(kindQuery, 7), answerBody(t)...) }
	for _, tc := range []struct {
		kind    Kind
		first   string
		packets [][]byte
	}{
		{Text, `\status\`, [][]byte{[]byte(sample)}},
		{TextInfo, `\basic\\info\`, [][]byte{[]byte(`\hostname\x\queryid\1.1`), []byte(`\mapname\y\final\\queryid\1.2`)}},
		{Binary, "\xFE\xFD\x00\x00\x00\x00\x07\xFF\xFF\xFF", [][]byte{body()}},
		{BinaryChallenged, "\xFE\xFD\x09\x00\x00\x00\x07", [][]byte{append(header(kindChallenge, 7), "0\x00"...), body()}},
	} {
		e := NewExchange(tc.kind, 7)
		if got := string(e.Question()); got != tc.first {
			t.Errorf("%v: first question %q, want %q", tc.kind, got, tc.first)
		}
		step := Wait
		for _, p := range tc.packets {
			step = take(t, e, p)
		}
		if st := e.Status(); step != Done || st.Empty() {
			t.Errorf("%v: step %d, status %+v", tc.kind, step, st)
		}
		if _, err := e.Take(tc.packets[0]); !errors.Is(err, ErrForeign) {
			t.Errorf("%v: a packet after the end: %v", tc.kind, err)
		}
	}
}

func TestForeignPacketsDoNotEndAnExchange(t *testing.T) {
	foreign := [][]byte{
		nil, []byte("x"), append(header(kindQuery, 8), answerBody(t)...), append(header(kindChallenge, 8), "1\x00"...),
		{0xFE, 0xFD, 0, 0, 0, 0, 7},
	}
	for _, kind := range []Kind{Text, TextInfo, Binary, BinaryChallenged} {
		e := NewExchange(kind, 7)
		for _, p := range foreign {
			if step, err := e.Take(p); step != Wait || !errors.Is(err, ErrForeign) {
				t.Errorf("%v: Take(%q) = %d, %v", kind, p, step, err)
			}
		}
	}
	e := NewExchange(BinaryChallenged, 7)
	if _, err := e.Take(append(header(kindChallenge, 7), "x\x00"...)); !errors.Is(err, ErrMalformed) {
		t.Errorf("bad challenge: %v", err)
	}
	if _, err := e.Take(append(header(kindQuery, 7), answerBody(t)...)); !errors.Is(err, ErrForeign) {
		t.Errorf("answer before the challenge: %v", err)
	}
}

func TestSplitAnswersAreBounded(t *testing.T) {
	var s splitAnswer
	if _, err := s.add([]byte("splitnum\x00\x07\x00")); err != nil {
		t.Errorf("the last packet: %v", err)
	}
	if _, err := s.add([]byte("splitnum\x00\x08\x00")); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a packet more: %v", err)
	}
	if _, err := s.add([]byte("splitnum\x00\x00" + strings.Repeat("x", MaxAnswer/maxSplit))); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a long packet: %v", err)
	}
	if _, err := s.add([]byte("splitnum\x00")); !errors.Is(err, ErrMalformed) {
		t.Errorf("a packet without number: %v", err)
	}
	if got := Kind(9).String(); got != "unknown" {
		t.Errorf("Kind(9) = %q", got)
	}
}

func FuzzExchange(f *testing.F) {
	packed := func(packets ...[]byte) []byte {
		var b []byte
		for _, p := range packets {
			b = append(binary.BigEndian.AppendUint16(b, uint16(len(p))), p...)
		}
		return b
	}
	f.Add(uint8(Binary), packed(append(header(kindQuery, 7), answerBody(f)...)))
	f.Add(uint8(BinaryChallenged), packed(append(header(kindChallenge, 7), "12\x00"...),
		append(header(kindQuery, 7), splitBodies()[0]...), append(header(kindQuery, 7), splitBodies()[1]...)))
	f.Add(uint8(Text), packed([]byte(sample)))
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		e := NewExchange(Kind(kind%4), 7)
		for len(b) >= 2 {
			n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
			step, _ := e.Take(b[2 : 2+n])
			b = b[2+n:]
			if step == Done {
				break
			}
		}
		st := e.Status()
		if len(st.Rules) > gamespy.MaxFields || len(st.Players.Rows) > MaxRows || len(st.Players.Columns) > MaxColumns {
			t.Errorf("%d rules, %d rows, %d columns", len(st.Rules), len(st.Players.Rows), len(st.Players.Columns))
		}
	})
}

// TestRecordedSplitAnswer reads the answer of an original server with 40
// players, cut in the middle of a column.
func TestRecordedSplitAnswer(t *testing.T) {
	text, err := os.ReadFile("testdata/split.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s splitAnswer
	whole := false
	for line := range strings.Lines(string(text)) {
		packet, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		_, _, body, ok := CutAnswer(packet)
		if !ok || whole {
			t.Fatalf("packet %x", packet)
		}
		if whole, err = s.add(body); err != nil {
			t.Fatal(err)
		}
	}
	st, err := s.status()
	if err != nil || !whole {
		t.Fatalf("whole %v, error %v", whole, err)
	}
	if len(st.Players.Rows) != 40 {
		t.Errorf("%d players, want 40", len(st.Players.Rows))
	}
	for i, row := range st.Players.Rows {
		for c, value := range row {
			if column := st.Players.Columns[c]; (value == "") != (i == 1 && column == "time_") {
				t.Errorf("player %d: %s = %q", i, column, value)
			}
		}
	}
	if got, _ := st.Get("numplayers"); got != "40" || st.Teams.Rows[1][0] != "Blue" {
		t.Errorf("numplayers %q, teams %+v", got, st.Teams)
	}
}
