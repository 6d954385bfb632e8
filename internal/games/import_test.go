package games

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/racetest"
)

func importFile(t *testing.T, path, name string) ([]Game, Report) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, rep, err := Import(bytes.NewReader(data), name)
	if err != nil {
		t.Fatalf("Import(%s): %v", path, err)
	}
	if rep.Read != len(list)+rep.Merged+rep.Refused {
		t.Errorf("Import(%s): %d read, but %d games, %d merged, %d refused", path, rep.Read, len(list), rep.Merged, rep.Refused)
	}
	return list, rep
}

func checkProblems(t *testing.T, rep Report, want []string) {
	t.Helper()
	var got []string
	for _, p := range rep.Problems {
		got = append(got, p.String())
	}
	if len(got) != len(want) {
		t.Fatalf("problems:\n%s\nwant %d", strings.Join(got, "\n"), len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d: %q, want %q", i, got[i], want[i])
		}
	}
}

func TestImportGSList(t *testing.T) {
	list, rep := importFile(t, "testdata/gslist.cfg", "gslist.cfg")
	want := []Game{
		{Name: "testarena", Title: "Test Arena", Secrets: []string{"Ab3dE6"}, Source: Source{FromFile, "gslist.cfg", 1}},
		{Name: "stella", Title: "Stella One", Secrets: []string{"FIlaPo", "M8o1Qw", "flfRQv"}, Source: Source{FromFile, "gslist.cfg", 2}},
		{Name: "g_caferacer", Title: "Café Räcer – Demo", Source: Source{FromFile, "gslist.cfg", 6}},
		{Name: "3dultraus", Title: "A title that fills all fifty-three columns of its own.", Source: Source{FromFile, "gslist.cfg", 9}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("games (-want +got):\n%s", diff)
	}
	checkProblems(t, rep, []string{
		"gslist.cfg:7: the line ends before the name",
		`gslist.cfg:8: game "two words": name must be`,
		`gslist.cfg:10: game "shortsec": secret 1 has 3 characters`,
	})
	if rep.Format != FormatGSList || rep.Read != 10 || rep.Merged != 3 || rep.Refused != 3 || rep.WithoutSecret != 2 {
		t.Errorf("report: %+v", rep)
	}
}

func TestImportTSV(t *testing.T) {
	list, rep := importFile(t, "testdata/game_list.tsv", "game_list.tsv")
	at := func(line int) Source { return Source{FromFile, "game_list.tsv", line} }
	want := []Game{
		{Name: "testarena", Title: "Test Arena", ID: 7, Secrets: []string{"Ab3dE6"}, Source: at(1)},
		{Name: "sayhello", Title: `Say "Hello": The Game`, ID: 12, Secrets: []string{"Zy9xW8"}, Source: at(2)},
		{Name: "nokey", Title: "No Key Yet", Source: at(3)},
		{Name: "stella", Title: "Stella One", ID: 1324, Secrets: []string{"flfRQv", "M8o1Qw"}, Source: at(4)},
		{Name: "longkey", Title: "Long Key", ID: 88, Secrets: []string{"t9Fj3Mx"}, Source: at(6)},
		{Name: "afterit", Title: "After It", ID: 2, Secrets: []string{"Ab3dE6"}, Source: at(10)},
		{Name: "older", Title: "Older Form", ID: 5, Secrets: []string{"Ab3dE6"}, Source: at(11)},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("games (-want +got):\n%s", diff)
	}
	checkProblems(t, rep, []string{
		`game_list.tsv:7: game "badid": id must be a number from 0 to 2147483647, not "x12"`,
		`game_list.tsv:8: game "bad name": name must be`,
		`game_list.tsv:9: bare " in non-quoted-field`,
		"game_list.tsv:12: 1 columns",
		"game_list.tsv:13: 7 columns",
	})
	if rep.Format != FormatTSV || rep.Read != 13 || rep.Merged != 1 || rep.Refused != 5 || rep.WithoutSecret != 1 {
		t.Errorf("report: %+v", rep)
	}
}

func TestImportYAMLSkipsBadRecords(t *testing.T) {
	text := "games:\n" +
		"  - {name: x, secret: first1, policy: {no_secure: on}}\n" +
		"  - {name: X, title: T, secrets: [second, first1], port: 7, policy: {no_secure: off}}\n" +
		"  - {name: y, prot: 1}\n" +
		"  - {name: z, secrets: []}\n" +
		"  - {name: z, secret: third3}\n"
	list, rep, err := Import(strings.NewReader(text), "list")
	if err != nil {
		t.Fatal(err)
	}
	want := []Game{
		{Name: "x", Title: "T", QueryPort: 7, Secrets: []string{"first1", "second"}, Policy: Policy{NoSecure: On}},
		{Name: "z", Secrets: []string{"third3"}},
	}
	if diff := cmp.Diff(want, list, ignoreSource, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("games (-want +got):\n%s", diff)
	}
	checkProblems(t, rep, []string{`list:4: game "y": unknown key "prot"`})
	if rep.Format != FormatYAML || rep.Read != 5 || rep.Merged != 2 || rep.Refused != 1 || rep.WithoutSecret != 0 {
		t.Errorf("report: %+v", rep)
	}
}

func TestImportedGamesAreAGoodLayer(t *testing.T) {
	for _, name := range []string{"gslist.cfg", "game_list.tsv"} {
		list, _ := importFile(t, "testdata/"+name, name)
		if c := newCatalog(t, list); c.Len() != len(list) {
			t.Errorf("%s: %d games in the catalogue, want %d", name, c.Len(), len(list))
		}
	}
}

func TestImportTellsTheFormat(t *testing.T) {
	gslist := fmt.Sprintf("%-54s%-19s%-6s\n", "Title", "name", "Ab3dE6")
	tests := map[string]struct {
		text, name string
		want       Format
	}{
		"yaml by content":             {"# c\n\ngames: []", "x", FormatYAML},
		"yaml with a document mark":   {"---\ngames: []", "x", FormatYAML},
		"tsv by content":              {"T\tn\t\tAb3dE6\t\t\n", "x", FormatTSV},
		"tsv under a wrong name":      {"T\tn\t\tAb3dE6\t\t\n", "gslist.cfg", FormatTSV},
		"gslist by content":           {gslist, "x", FormatGSList},
		"gslist behind blank lines":   {"\r\n \n" + gslist, "x", FormatGSList},
		"empty yaml by name":          {"", "my.YAML", FormatYAML},
		"empty yml by name":           {"", `C:\games\my.yml`, FormatYAML},
		"two columns, tsv by name":    {"T\tn\n", "/a.b/game_list.tsv", FormatTSV},
		"bad first line, cfg by name": {"hello\n" + gslist, "gslist.cfg", FormatGSList},
		"nothing known":               {"hello\n", "games.txt", ""},
		"nothing at all":              {"", "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := detect([]byte(tc.text), tc.name); got != tc.want {
				t.Errorf("detect(%q, %q) = %q, want %q", tc.text, tc.name, got, tc.want)
			}
		})
	}
}

func TestImportRefusesWholeFiles(t *testing.T) {
	racetest.Skip(t, "reads a file of the largest size")
	if _, _, err := Import(strings.NewReader("hello"), "x.txt"); !errors.Is(err, ErrUnknownFormat) || !strings.HasPrefix(err.Error(), "x.txt: ") {
		t.Errorf("unknown form: %v, want ErrUnknownFormat and the name", err)
	}
	if _, _, err := Import(strings.NewReader("INSERT INTO games VALUES (1);"), "dump.SQL"); !errors.Is(err, errSQL) || !strings.Contains(err.Error(), "games.md") {
		t.Errorf("dump: %v, want errSQL, which names the page with the conversion", err)
	}
	if _, _, err := Import(strings.NewReader("games: ["), "x.yaml"); err == nil {
		t.Error("broken YAML: no error")
	}
	if _, _, err := Import(strings.NewReader("spiele: []"), "x.yaml"); err == nil {
		t.Error("YAML that is no list of games: no error")
	}
	// All but the first are refused, because so many games take a second to copy.
	for name, row := range map[string][2]string{
		"x.tsv": {"T\tn\t\t\t\t\n", "T\n"},
		"x.cfg": {strings.Repeat(" ", gslistName) + "n\n", strings.Repeat(" ", gslistName) + "!\n"},
	} {
		text := row[0] + strings.Repeat(row[1], MaxRecords-1)
		list, rep, err := Import(strings.NewReader(text), name)
		if err != nil || len(list) != 1 || rep.Read != MaxRecords {
			t.Errorf("%s with %d records: %d games, %d records read, %v", name, MaxRecords, len(list), rep.Read, err)
		}
		if _, _, err := Import(strings.NewReader(text+row[1]), name); !errors.Is(err, ErrTooManyRecords) {
			t.Errorf("%s with %d records: %v, want ErrTooManyRecords", name, MaxRecords+1, err)
		}
	}
}

func TestImportKeepsAtMostMaxSecrets(t *testing.T) {
	var text strings.Builder
	for i := range MaxSecrets + 1 {
		fmt.Fprintf(&text, "T\tn\t\tsecre%c\t\t\n", 'a'+i)
	}
	list, rep, err := Import(strings.NewReader(text.String()), "x.tsv")
	if err != nil || len(list) != 1 || len(list[0].Secrets) != MaxSecrets || list[0].Secrets[0] != "secrea" {
		t.Fatalf("Import = %+v, %v; want one game with %d secrets", list, err, MaxSecrets)
	}
	checkProblems(t, rep, []string{`x.tsv:17: game "n": more than 16 secrets`})
}

func TestGSListColumnsSurviveEditors(t *testing.T) {
	tests := map[string]struct {
		line string
		want Game
	}{
		"padding gone":     {fmt.Sprintf("%-54s%s", "T", "n"), Game{Name: "n", Title: "T"}},
		"seventh letter":   {fmt.Sprintf("%-54s%-19s%s", "T", "n", "t9Fj3Mx"), Game{Name: "n", Title: "T", Secrets: []string{"t9Fj3Mx"}}},
		"saved as UTF-8":   {fmt.Sprintf("%-54s%-19s%s", "Café – Bar", "n", "Ab3dE6"), Game{Name: "n", Title: "Café – Bar", Secrets: []string{"Ab3dE6"}}},
		"Windows line end": {fmt.Sprintf("%-54s%-19s%s\r", "T", "n", "Ab3dE6"), Game{Name: "n", Title: "T", Secrets: []string{"Ab3dE6"}}},
		"longest name":     {fmt.Sprintf("%-54s%-19s%s", "T", strings.Repeat("n", 19), "Ab3dE6"), Game{Name: strings.Repeat("n", 19), Title: "T", Secrets: []string{"Ab3dE6"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list, _, err := Import(strings.NewReader(tc.line+"\n"), "x.cfg")
			if err != nil || !cmp.Equal([]Game{tc.want}, list, ignoreSource) {
				t.Errorf("Import(%q) = %+v, %v; want %+v", tc.line, list, err, tc.want)
			}
		})
	}
}

func FuzzImport(f *testing.F) {
	for _, path := range []string{"testdata/gslist.cfg", "testdata/game_list.tsv"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, path)
	}
	f.Add([]byte("games: [{name: x, secret: HA6zkS}, {name: x, id: 0}, {name: '!'}]"), "x.yaml")
	f.Add([]byte("T\tn\n\"a\tb"), "x.tsv")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		list, rep, err := Import(bytes.NewReader(data), name)
		if err != nil {
			if list != nil {
				t.Errorf("games with the error %v", err)
			}
			return
		}
		if rep.Read != len(list)+rep.Merged+rep.Refused || rep.Merged < 0 || rep.Refused < 0 {
			t.Errorf("%d games, report %+v", len(list), rep)
		}
		seen := make(map[string]bool)
		for _, g := range list {
			var probs problems
			if seen[g.Name] || !g.check(&probs) {
				t.Errorf("bad game %+v: twice %v, %v", g, seen[g.Name], probs.list)
			}
			seen[g.Name] = true
		}
		if again := parse(t, string(AppendYAML(nil, list))); !cmp.Equal(list, again, ignoreSource, cmpopts.EquateEmpty()) {
			t.Errorf("read back from YAML (-want +got):\n%s", cmp.Diff(list, again, ignoreSource, cmpopts.EquateEmpty()))
		}
	})
}
