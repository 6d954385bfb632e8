package games

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/internal/racetest"
)

var ignoreSource = cmpopts.IgnoreFields(Game{}, "Source")

func parse(t *testing.T, text string) []Game {
	t.Helper()
	list, err := ParseYAML(strings.NewReader(text), Source{Origin: FromFile, File: "my.yaml"})
	if err != nil {
		t.Fatalf("ParseYAML:\n%s\n%v", text, err)
	}
	return list
}

func TestParseYAMLReadsEveryKey(t *testing.T) {
	got := parse(t, `
# a comment
games:
  - name: GmTest
    title: "Test: the \"game\""
    secrets: [HA6zkS, 012345, 1e5555]
    id: 007
    port: 6501
    backend_flags: 0x80
    disabled_services: 2
    maintenance: yes
    rooms:
      - id: 4294967294
        name: Lobby
        max_waiting: 50
        fields: {zeta: 1, alpha: "two words"}
      - {id: 2, name: B}
    boards:
      - {name: kills, title: Most kills, how: sum}
      - {name: best, key: score, how: max}
    policy: {strict_availability: off, no_secure: true, strict_legacy_validate: inherit, no_relay: on, zero_stats: on}
  - {name: short, secret: Xn221z}
`)
	want := []Game{
		{
			Name: "gmtest", Title: `Test: the "game"`, Secrets: []string{"HA6zkS", "012345", "1e5555"}, ID: 7, QueryPort: 6501,
			BackendFlags: 0x80, DisabledServices: 2, Maintenance: true,
			Rooms: []Room{
				{ID: 4294967294, Name: "Lobby", MaxWaiting: 50, Fields: []Field{{"zeta", "1"}, {"alpha", "two words"}}},
				{ID: 2, Name: "B"},
			},
			Boards: []Board{
				{Name: "kills", Title: "Most kills", Key: "kills", How: BoardSum}, {Name: "best", Key: "score", How: BoardMax},
			},
			Policy: Policy{StrictAvailability: Off, NoSecure: On, NoRelay: On, ZeroStats: On},
			Source: Source{Origin: FromFile, File: "my.yaml", Line: 4},
		},
		{Name: "short", Secrets: []string{"Xn221z"}, Source: Source{Origin: FromFile, File: "my.yaml", Line: 22}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseYAML (-want +got):\n%s", diff)
	}
}

func TestParseYAMLTellsStatedZeroFromSilence(t *testing.T) {
	tests := map[string]Fields{
		"{name: x}":                       0,
		"{name: x, secret: }":             0,
		"{name: x, id: ~, rooms: null}":   0,
		"{name: x, secret: ''}":           FieldsOf("secrets"),
		"{name: x, secrets: []}":          FieldsOf("secrets"),
		"{name: x, id: 0}":                FieldsOf("id"),
		"{name: x, backend_flags: 0}":     FieldsOf("backend_flags"),
		"{name: x, disabled_services: 0}": FieldsOf("disabled_services"),
		"{name: x, maintenance: off}":     FieldsOf("maintenance"),
		"{name: x, rooms: []}":            FieldsOf("rooms"),
		"{name: x, boards: []}":           FieldsOf("boards"),
		"{name: x, id: 1, rooms: []}":     FieldsOf("rooms"),
	}
	for text, want := range tests {
		if got := parse(t, "games: ["+text+"]"); len(got) != 1 || got[0].Given != want {
			t.Errorf("ParseYAML(%s) = %+v, want Given %b", text, got, want)
		}
	}
}

func TestParseYAMLOfNothingIsEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "games:\n", "games: []\n", "\xef\xbb\xbfgames: []"} {
		if got := parse(t, text); len(got) != 0 {
			t.Errorf("ParseYAML(%q) = %v, want none", text, got)
		}
	}
}

func TestParseYAMLNamesEveryMistake(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"unknown top key":        {"game: []", `my.yaml:1: unknown key "game"`},
		"not a mapping":          {"- a", "my.yaml:1: want keys with values"},
		"games not a list":       {"games: {a: b}", "my.yaml:1: games must be a list"},
		"item not a mapping":     {"games:\n  - gmtest", "my.yaml:2: a game must be keys with values"},
		"unknown key":            {"games:\n  - name: x\n    prot: 1", `my.yaml:3: game "x": unknown key "prot"`},
		"key twice":              {"games:\n  - name: x\n    id: 1\n    id: 2", `my.yaml:4: game "x": the key "id" is there twice`},
		"unknown policy":         {"games: [{name: x, policy: {no_secrue: on}}]", `game "x": policy: unknown key "no_secrue"`},
		"unknown room key":       {"games: [{name: x, rooms: [{id: 1, name: r, size: 2}]}]", `room: unknown key "size"`},
		"no name":                {"games:\n  - title: X", "my.yaml:2: name is missing"},
		"port 0":                 {"games: [{name: x, port: 0}]", "port must be a number from 1 to 65535"},
		"port too high":          {"games: [{name: x, port: 65536}]", "port must be a number from 1 to 65535"},
		"port a word":            {"games: [{name: x, port: http}]", "port must be a number"},
		"flags too high":         {"games: [{name: x, backend_flags: 0x10000}]", "backend_flags must be a number from 0 to 65535"},
		"disabled too high":      {"games: [{name: x, disabled_services: 4294967296}]", "disabled_services must be a number"},
		"negative id":            {"games: [{name: x, id: -1}]", "id must be a number"},
		"id too high":            {"games: [{name: x, id: 2147483648}]", "id must be a number"},
		"maintenance a word":     {"games: [{name: x, maintenance: maybe}]", "maintenance must be on or off"},
		"secret and secrets":     {"games: [{name: x, secret: HA6zkS, secrets: []}]", "secret and secrets: one of them is enough"},
		"secrets a mapping":      {"games: [{name: x, secrets: {a: b}}]", "secrets must be text"},
		"short secret":           {"games: [{name: x, secret: abc}]", "secret 1 has 3 characters"},
		"rooms not a list":       {"games: [{name: x, rooms: {a: b}}]", "rooms must be a list"},
		"room without id":        {"games: [{name: x, rooms: [{name: r}]}]", "room 0: id is missing"},
		"unknown board key":      {"games: [{name: x, boards: [{name: b, how: sum, from: a}]}]", `board: unknown key "from"`},
		"unknown board rule":     {"games: [{name: x, boards: [{name: b, how: min}]}]", `board "b": how must be sum, max, last or elo, not "min"`},
		"alias":                  {"games: [{name: x, title: &a T}, {name: y, title: *a}]", `game "y": title must be text`},
		"merge key":              {"games: [&a {name: x}, {<<: *a, name: y}]", `unknown key "<<"`},
		"list as a key":          {"games: [{name: x, [a]: b}]", "a key must be a word"},
		"same game twice":        {"games:\n  - name: x\n  - name: X", `my.yaml:3: game "x": already in my.yaml:2`},
		"name that breaks lines": {"games: [{name: \"a\\nb\"}]", `game "a\nb": name must be`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := ParseYAML(strings.NewReader(tc.text), Source{Origin: FromFile, File: "my.yaml"})
			invalid, ok := errors.AsType[*InvalidError](err)
			if !ok || list != nil {
				t.Fatalf("ParseYAML(%q) = %v, %v; want an *InvalidError", tc.text, list, err)
			}
			if invalid.Total != 1 || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ParseYAML(%q): %v; want one mistake, %q", tc.text, err, tc.want)
			}
		})
	}
}

func TestParseYAMLRefusesANameThatIsNoText(t *testing.T) {
	for _, text := range []string{"games: [{name: [x]}]", "games: [{name: {a: b}}]"} {
		if _, err := ParseYAML(strings.NewReader(text), Source{}); err == nil || !strings.Contains(err.Error(), "name must be text") {
			t.Errorf("ParseYAML(%s): %v, want: name must be text", text, err)
		}
	}
}

func TestParseYAMLReportsAllMistakesAtOnce(t *testing.T) {
	_, err := ParseYAML(strings.NewReader("games:\n  - {name: a, port: 0}\n  - {name: b}\n  - {name: c, x: 1, secret: no}\n"), Source{File: "f"})
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || invalid.Total != 3 {
		t.Fatalf("ParseYAML: %v, want 3 mistakes", err)
	}
	for i, line := range []int{2, 4, 4} {
		if got := invalid.Problems[i].Source.Line; got != line {
			t.Errorf("mistake %d is in line %d, want %d: %s", i, got, line, invalid.Problems[i])
		}
	}
}

func TestParseYAMLNoDocument(t *testing.T) {
	for name, text := range map[string]string{
		"broken":        "games: [",
		"two documents": "games: []\n---\ngames: []\n",
		"not UTF-8":     "games: [\xff]",
		"broken second": "games: []\n---\n[",
	} {
		if list, err := ParseYAML(strings.NewReader(text), Source{File: "f"}); err == nil || !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%s: ParseYAML = %v, %v; want an error that names the file", name, list, err)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := ParseYAML(iotest.ErrReader(broken), Source{}); !errors.Is(err, broken) {
		t.Errorf("ParseYAML of a broken reader: %v", err)
	}
}

func TestReadAllStopsAtTheLargestFile(t *testing.T) {
	racetest.Skip(t, "reads a file of the largest size")
	if data, err := readAll(io.LimitReader(spaces{}, MaxFileSize)); err != nil || len(data) != MaxFileSize {
		t.Errorf("readAll of %d bytes: %d bytes, %v", MaxFileSize, len(data), err)
	}
	if _, err := readAll(spaces{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("readAll of an endless file: %v, want ErrTooLarge", err)
	}
	if _, err := ParseYAML(spaces{}, Source{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ParseYAML of an endless file: %v, want ErrTooLarge", err)
	}
	if _, _, err := Import(spaces{}, "x.tsv"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Import of an endless file: %v, want ErrTooLarge", err)
	}
}

// spaces is an endless file.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	p[0] = ' '
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
	return len(p), nil
}

func TestParseYAMLRefusesTooManyRecords(t *testing.T) {
	racetest.Skip(t, "reads a file of the largest size")
	text := "games: [" + strings.Repeat("0,", MaxRecords) + "0]"
	if _, err := ParseYAML(strings.NewReader(text), Source{}); !errors.Is(err, ErrTooManyRecords) {
		t.Errorf("ParseYAML of %d records: %v, want ErrTooManyRecords", MaxRecords+1, err)
	}
}

func TestParseYAMLRefusesTooManyValues(t *testing.T) {
	racetest.Skip(t, "reads a file of the largest size")
	fits := "games: []\n#" + strings.Repeat("-", maxYAMLMarks-2)
	if _, err := ParseYAML(strings.NewReader(fits), Source{}); err != nil {
		t.Errorf("ParseYAML of %d marks: %v", maxYAMLMarks, err)
	}
	for name, text := range map[string]string{
		"one more":   fits + "-",
		"long list":  "games: [" + strings.Repeat("0,", maxYAMLMarks) + "0]",
		"deep lists": strings.Repeat(strings.Repeat("- ", 9000)+"0\n", maxYAMLMarks/9000+1),
	} {
		if _, err := ParseYAML(strings.NewReader(text), Source{}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: ParseYAML: %v, want ErrTooLarge", name, err)
		}
	}
}

func TestListOfMaxRecordsHasNotTooManyValues(t *testing.T) {
	const part = 100 // of the list is enough
	list := make([]Game, MaxRecords/part)
	for i := range list {
		list[i] = Game{Name: "game" + strconv.Itoa(i), Title: "Some Game: the Demo", Secrets: []string{"abcdef"}, ID: i + 1, QueryPort: 7777, BackendFlags: 128}
	}
	if got := part * yamlMarks(AppendYAML(nil, list)); got > maxYAMLMarks {
		t.Errorf("%d games have %d marks, more than %d", MaxRecords, got, maxYAMLMarks)
	}
}

func TestWriteYAMLIsReadBack(t *testing.T) {
	want := []Game{
		{Name: "plain"},
		{Name: "true", Title: "yes", Secrets: []string{"7W7yZz", "1e5555", "0x1234", "'\",:{}", "#a[]&*!"}},
		{Name: "1942", Title: "Caf\u00e9 – \u2028 {a: b}, \"c\" \\ # d\u00a0\ufeff"},
		{Name: "_a", ID: maxID, QueryPort: 65535, BackendFlags: 65535, DisabledServices: 1<<32 - 1, Maintenance: true},
		{Name: "none", Given: FieldsOf("secrets", "id", "backend_flags", "disabled_services", "maintenance", "rooms")},
		{Name: "rooms", Rooms: []Room{
			{ID: 1, Name: "A: {}", MaxWaiting: 5, Fields: []Field{{"no", ""}, {"a b", "~"}, {"null", "null"}}},
			{ID: 0xFFFFFFFE, Name: "~"},
		}},
		{Name: "boards", Boards: []Board{
			{Name: "b1", Title: "~ \"a\"", Key: "b1", How: BoardLast}, {Name: "1", Key: "a: b", How: BoardSum},
		}},
		{Name: "policy", Policy: Policy{StrictAvailability: On, NoSecure: Off, StrictLegacyValidate: On}},
		{Name: "presence", Policy: Policy{SecondLogin: AllowSecond, AutoAccept: On, SymmetricDelete: Off, NoUserID: On}},
	}
	var buf bytes.Buffer
	if err := WriteYAML(&buf, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, parse(t, buf.String()), ignoreSource); diff != "" {
		t.Errorf("read back (-want +got):\n%s\nfrom\n%s", diff, buf.String())
	}
}

func TestAppendYAMLForm(t *testing.T) {
	got := string(AppendYAML([]byte("# mine\n"), []Game{{Name: "gmtest", Title: "Test", Secrets: []string{"HA6zkS"}, ID: 1, Source: Source{File: "f"}}}))
	want := "# mine\ngames:\n  - {name: gmtest, title: \"Test\", secrets: [HA6zkS], id: 1}\n"
	if got != want {
		t.Errorf("AppendYAML = %q, want %q", got, want)
	}
	if got := string(AppendYAML(nil, nil)); got != "games: []\n" {
		t.Errorf("AppendYAML of no games = %q", got)
	}
}

func FuzzParseYAML(f *testing.F) {
	f.Add("games:\n  - {name: gmtest, title: \"T\", secrets: [HA6zkS], id: 1}\n")
	f.Add("games: [{name: x, rooms: [{id: 1, name: r, fields: {a: b}}], policy: {no_secure: on}}]")
	f.Add("games: [{name: x, id: 0, secrets: [], maintenance: off, rooms: []}]")
	f.Add("games: [{name: x, boards: [{name: b, title: t, key: k, how: last}]}]")
	f.Add("games: [&a {name: x}, *a, {<<: *a}]")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseYAML(strings.NewReader(text), Source{File: "f"})
		if err != nil {
			if list != nil || err.Error() == "" {
				t.Errorf("games with the error %q", err)
			}
			return
		}
		written := AppendYAML(nil, list)
		again, err := ParseYAML(bytes.NewReader(written), Source{})
		if err != nil {
			t.Fatalf("the written form is refused: %v\n%s", err, written)
		}
		if diff := cmp.Diff(list, again, ignoreSource, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
}
