package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/gamespy"
)

// sample is a recorded answer.
const sample = `\gamename\gmtest\gamever\2.00\location\1\hostname\GameMaster Arena Server\hostport\25000\mapname\gmtmap1` +
	`\gametype\arena\numplayers\1\maxplayers\32\gamemode\openplaying\timelimit\40\fraglimit\0\teamplay\1\rankedserver\1` +
	`\player_0\Joe Player\frags_0\25\deaths_0\6\skill_0\272\ping_0\119\team_0\\final\\queryid\2.1`

// assemble adds packets and fails unless the answer is whole with the last one.
func assemble(t *testing.T, packets ...string) Status {
	t.Helper()
	var a Assembly
	for i, p := range packets {
		whole, err := a.Add([]byte(p))
		if err != nil {
			t.Fatalf("Add(%q): %v", p, err)
		}
		if last := i == len(packets)-1; whole != last {
			t.Fatalf("Add(packet %d of %d): whole = %v", i+1, len(packets), whole)
		}
	}
	st, err := a.Status()
	if err != nil {
		t.Fatalf("Status: %v", err)
	}
	return st
}

func TestRecordedAnswer(t *testing.T) {
	st := assemble(t, sample)
	if got, _ := st.Get("HostName"); got != "GameMaster Arena Server" || len(st.Rules) != 14 {
		t.Errorf("hostname %q, %d rules; want 14: %+v", got, len(st.Rules), st.Rules)
	}
	want := Table{
		Columns: []string{"player_", "frags_", "deaths_", "skill_", "ping_", "team_"},
		Rows:    [][]string{{"Joe Player", "25", "6", "272", "119", ""}},
	}
	if diff := cmp.Diff(want, st.Players); diff != "" {
		t.Errorf("players (-want +got):\n%s", diff)
	}
}

func TestAnswersInEveryForm(t *testing.T) {
	for name, packets := range map[string][]string{
		"no first backslash":      {`a\1\b\2\final\\queryid\1.1`},
		"none in either packet":   {`a\1\queryid\1.1`, `b\2\final\\queryid\1.2`},
		"one packet":              {`\a\1\b\2\final\\queryid\1.1`},
		"two packets":             {`\a\1\queryid\1.1`, `\b\2\final\\queryid\1.2`},
		"out of order":            {`\b\2\final\\queryid\1.2`, `\a\1\queryid\1.1`},
		"queryid first":           {`\queryid\1.1\a\1`, `\queryid\1.2\b\2\final\`},
		"final first":             {`\a\1\queryid\1.1`, `\final\\b\2\queryid\1.2`},
		"final first, one slash":  {`\a\1\queryid\1.1`, `\final\b\2\queryid\1.2`},
		"final behind queryid":    {`\a\1\queryid\5.1`, `\b\2\queryid\5.2\final\`},
		"number alone":            {`\b\2\queryid\2\final\`, `\a\1\queryid\1`},
		"no queryid":              {`\a\1\b\2\final\`},
		"neither":                 {`\a\1\b\2`},
		"a word as queryid":       {`\a\1\b\2\queryid\gs1\final\`},
		"upper case":              {`\a\1\QueryID\1.1`, `\b\2\Final\\QueryID\1.2`},
		"with NUL and line end":   {"\\a\\1\\queryid\\1.1\x00", "\\b\\2\\final\\\\queryid\\1.2\r\n"},
		"numbered from 0":         {`\statusresponse\0\a\1\eof\`, `\statusresponse\1\b\2\queryid\AMv1\final\\eof\`},
		"numbered, out of order":  {`\statusresponse\1\b\2\queryid\AMv1\final\\eof\`, `\statusresponse\0\a\1\eof\`},
		"numbered, one":           {`\statusresponse\0\a\1\b\2\queryid\AMv1\final\\eof\`},
		"cut behind a key":        {`\statusresponse\0\a\1\b\eof\`, `\statusresponse\1\2\queryid\AMv1\final\\eof\`},
		"asked again":             {`\a\1\queryid\1.1`, `\a\1\queryid\2.1`, `\b\2\final\\queryid\2.2`},
		"the same packet twice":   {`\a\1\queryid\1.1`, `\a\1\queryid\1.1`, `\b\2\final\\queryid\1.2`},
		"packet 0 of no number 0": {`\a\1\b\2\final\\queryid\1.0`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(Status{Rules: []Field{{"a", "1"}, {"b", "2"}}}, assemble(t, packets...)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// Answers of three packets as modified servers of one game send them.
var (
	numberedAnswer = []string{
		`\statusresponse\2\kills_13\1\deaths_14\1\queryid\AMv1\final\\eof\`,
		`\statusresponse\1\0\score_1\0\ping_0\155\ping_1\127\player_13\P\player_14\xXx\eof\`,
		`\statusresponse\0\hostname\A Server\hostport\10580\player_0\Rikki<CPL>\player_1\Nico^Elite\score_0\eof\`,
	}
	pointlessAnswer = []string{
		`\player_3\Morgan\score_3\6\team_3\1\queryid\2`,
		`\hostname\-== Svr==-\numplayers\13\player_0\ugatz\score_0\0\queryid\1`,
		`\kills_3\5\player_10\conoe\score_10\7\queryid\3\final\`,
	}
)

func TestRecordedAnswersOfManyPackets(t *testing.T) {
	st := assemble(t, numberedAnswer...)
	want := [][]string{
		{"Rikki<CPL>", "0", "155", "", ""},
		{"Nico^Elite", "0", "127", "", ""},
		{"P", "", "", "1", ""},
		{"xXx", "", "", "", "1"},
	}
	if diff := cmp.Diff(want, st.Players.Rows); diff != "" {
		t.Errorf("numbered answer, players (-want +got):\n%s", diff)
	}
	st = assemble(t, pointlessAnswer...)
	want = [][]string{{"ugatz", "0", "", ""}, {"Morgan", "6", "1", "5"}, {"conoe", "7", "", ""}}
	if diff := cmp.Diff(want, st.Players.Rows); diff != "" || len(st.Rules) != 2 {
		t.Errorf("answer without points: %d rules, players (-want +got):\n%s", len(st.Rules), diff)
	}
}

func TestIncompleteAnswersAreNotWhole(t *testing.T) {
	for name, packets := range map[string][]string{
		"no final":     {`\a\1\queryid\1.1`, `\b\2\queryid\1.2`},
		"hole":         {`\a\1\queryid\1.1`, `\c\3\final\\queryid\1.3`},
		"other query":  {`\a\1\queryid\1.1`, `\b\2\final\\queryid\2.2`},
		"numbered":     {`\statusresponse\1\b\2\final\\eof\`},
		"numbered end": {`\statusresponse\0\a\1\eof\`},
	} {
		var a Assembly
		for _, p := range packets {
			if whole, err := a.Add([]byte(p)); whole || err != nil {
				t.Errorf("%s: Add(%q) = %v, %v; want not whole", name, p, whole, err)
			}
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	var a Assembly
	if _, err := a.Add(fmt.Appendf(nil, `\a\1\queryid\1.%d`, MaxPackets-1)); err != nil {
		t.Errorf("packet %d: %v", MaxPackets-1, err)
	}
	if _, err := a.Add(fmt.Appendf(nil, `\a\1\queryid\1.%d`, MaxPackets)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("packet %d: %v, want ErrTooMuch", MaxPackets, err)
	}
	a.Reset()
	filler := strings.Repeat("x", MaxAnswer-len(`\a\\queryid\1.1`))
	if _, err := a.Add([]byte(`\a\` + filler + `\queryid\1.1`)); err != nil || a.Size() != MaxAnswer {
		t.Errorf("the longest packet: %v, %d bytes held", err, a.Size())
	}
	if _, err := a.Add([]byte(`\a\1\queryid\1.2`)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a packet more: %v, want ErrTooMuch", err)
	}
	for _, p := range []string{"", "abc", "\x00\\a\\b", `\\\`, `\statusresponse\`, `\statusresponse\x\a\b`, `\statusresponse\300\a\b`} {
		if _, err := new(Assembly).Add([]byte(p)); !errors.Is(err, ErrMalformed) && p != "\x00\\a\\b" {
			t.Errorf("Add(%q): %v, want ErrMalformed", p, err)
		}
	}
	if _, err := ParseText([]byte(strings.Repeat(`\a\1`, gamespy.MaxFields+1))); !errors.Is(err, gamespy.ErrTooManyFields) {
		t.Errorf("too many fields: %v", err)
	}
}

func TestRowsBecomeTables(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want Status
	}{
		"players": {`\player_0\Ann\ping_0\5\player_1\Bob`, Status{Players: Table{[]string{"player_", "ping_"}, [][]string{{"Ann", "5"}, {"Bob", ""}}}}},
		"gaps":    {`\player_7\Ann\ping_7\5\player_200\Bob`, Status{Players: Table{[]string{"player_", "ping_"}, [][]string{{"Ann", "5"}, {"Bob", ""}}}}},
		"teams":   {`\team_t0\Red\score_t0\1\team_t1\Blue\teamname_0\R`, Status{Teams: Table{[]string{"team_t", "score_t", "teamname_"}, [][]string{{"Red", "1", "R"}, {"Blue", "", ""}}}}},
		"team of": {`\playername_0\Ann\team_0\2`, Status{Players: Table{[]string{"playername_", "team_"}, [][]string{{"Ann", "2"}}}}},
		"rules that look like rows": {`\setting_01\a\setting_2\b\map1\c\x_9999\d\_1\e`, Status{Rules: []Field{
			{"setting_01", "a"}, {"setting_2", "b"}, {"map1", "c"}, {"x_9999", "d"}, {"_1", "e"},
		}}},
		"proofs": {`\a\1\validate\XYZ\echo\T`, Status{Rules: []Field{{"a", "1"}}, Validate: "XYZ", Echo: "T"}},
	} {
		got, err := ParseText([]byte(tc.text))
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestTablesAreBounded(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, `\player_0\Ann\player_%d\Bob\player_%d\Cid`, MaxRows-1, MaxRows)
	for i := range MaxColumns {
		fmt.Fprintf(&b, `\c%d_0\x`, i)
	}
	st, err := ParseText([]byte(b.String()))
	if err != nil || len(st.Players.Rows) != 2 || len(st.Players.Columns) != MaxColumns || len(st.Rules) != 2 {
		t.Errorf("%d rows, %d columns, %d rules, error %v; want 2, %d, 2", len(st.Players.Rows), len(st.Players.Columns), len(st.Rules), err, MaxColumns)
	}
}

func FuzzAssembly(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(strings.Join(numberedAnswer, "\n")))
	f.Add([]byte(strings.Join(pointlessAnswer, "\n")))
	f.Add([]byte("\\a\\1\\queryid\\5.1\n\\b\\2\\queryid\\5.2\\final\\"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a Assembly
		whole := false
		for line := range strings.SplitSeq(string(b), "\n") {
			if w, err := a.Add([]byte(line)); err == nil {
				whole = w
			}
			if a.Size() > MaxAnswer {
				t.Fatalf("%d bytes held", a.Size())
			}
		}
		st, err := a.Status()
		if err != nil {
			return
		}
		if whole && a.Size() == 0 {
			t.Error("a whole answer of nothing")
		}
		if len(st.Rules) > gamespy.MaxFields || len(st.Players.Rows) > MaxRows || len(st.Teams.Columns) > MaxColumns {
			t.Errorf("%d rules, %d rows, %d columns", len(st.Rules), len(st.Players.Rows), len(st.Teams.Columns))
		}
	})
}

func TestIsText(t *testing.T) {
	long := strings.Repeat("x", maxFirstKey)
	for packet, want := range map[string]bool{
		"": false, `\`: true, `\a\1`: true, `gamename\x`: true, `game_Name2\x`: true, long + `\`: true, long + `x\`: false,
		"gamename": false, `game name\x`: false, "\xff\xff\xff\xff\\a": false, "\x00KKKKa\\": false, "\x03\\a": false,
	} {
		if got := IsText([]byte(packet)); got != want {
			t.Errorf("IsText(%q) = %v, want %v", packet, got, want)
		}
	}
}
