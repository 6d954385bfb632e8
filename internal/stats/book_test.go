package stats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

// openBook returns a book over a new store with n profiles, whose ids are 1 to n.
func openBook(t testing.TB, n int, opt Options) (*Book, storage.Store) {
	t.Helper()
	s := storetest.New(t)
	for i := range n {
		_, p, err := s.CreateUser(t.Context(), storage.User{Email: fmt.Sprintf("%d@example.com", i)}, storage.Profile{Nick: "Nick"})
		if err != nil || int(p.ID) != i+1 {
			t.Fatal(p.ID, err)
		}
	}
	return New(s, opt), s
}

func block(game string, index int32) storage.StatBlockID {
	return storage.StatBlockID{Game: game, Profile: 1, Kind: storage.StatPublicWrite, Index: index}
}

// dataOf returns the data of a block, "-" if there is none.
func dataOf(t *testing.T, b *Book, id storage.StatBlockID) string {
	t.Helper()
	got, err := b.Get(t.Context(), id)
	if errors.Is(err, storage.ErrNotFound) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(got.Data)
}

func TestSet(t *testing.T) {
	b, _ := openBook(t, 1, Options{})
	binary := "a\\b\\final\\\x00\x01\xff"
	first, err := b.Set(t.Context(), block("gmtest", 0), []byte(binary))
	if err != nil {
		t.Fatal(err)
	}
	if got := dataOf(t, b, block("gmtest", 0)); got != binary {
		t.Errorf("Get() = %q", got)
	}
	for name, id := range map[string]storage.StatBlockID{"game": block("gmtest2", 0), "index": block("gmtest", 1)} {
		if got := dataOf(t, b, id); got != "-" {
			t.Errorf("another %s has the data %q", name, got)
		}
	}
	second, err := b.Set(t.Context(), block("gmtest", 0), nil)
	if err != nil || !second.After(first) || second.Nanosecond() != 0 {
		t.Errorf("a second change at %v after %v, %v, want a later whole second", second, first, err)
	}
	if _, err := b.Set(t.Context(), storage.StatBlockID{Game: "gmtest", Profile: 2}, nil); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Set() without a profile = %v, want ErrNotFound", err)
	}
}

func TestLimits(t *testing.T) {
	b, _ := openBook(t, 1, Options{Limits: Limits{MaxBlock: 10, MaxPerProfile: 15}})
	set := func(index int32, size int) error {
		_, err := b.Set(t.Context(), block("gmtest", index), make([]byte, size))
		return err
	}
	if err := set(0, 11); !errors.Is(err, ErrTooLarge) {
		t.Errorf("11 bytes = %v, want ErrTooLarge", err)
	}
	if err := set(0, 10); err != nil {
		t.Errorf("10 bytes = %v", err)
	}
	if err := set(1, 6); !errors.Is(err, ErrFull) {
		t.Errorf("16 bytes in all = %v, want ErrFull", err)
	}
	if err := set(1, 5); err != nil {
		t.Errorf("15 bytes in all = %v", err)
	}
	if _, err := b.Merge(t.Context(), block("gmtest", 1), []byte(`\k\1234567`)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("11 bytes after merging = %v, want ErrTooLarge", err)
	}
	b.SetLimits(Limits{})
	if want := (Limits{DefaultMaxBlock, DefaultMaxPerProfile, DefaultKeepGames, DefaultKeepBytes, DefaultKeepFor}); b.Limits() != want {
		t.Errorf("Limits() = %+v, want %+v", b.Limits(), want)
	}
	for i := range int32(DefaultMaxPerProfile / DefaultMaxBlock) {
		if err := set(i, DefaultMaxBlock); err != nil {
			t.Errorf("block %d by default = %v", i, err)
		}
	}
	if err := set(0, DefaultMaxBlock+1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a block over the default = %v, want ErrTooLarge", err)
	}
	if err := set(1000, 1); !errors.Is(err, ErrFull) {
		t.Errorf("a byte over the default = %v, want ErrFull", err)
	}
}

func TestMerge(t *testing.T) {
	tests := map[string]struct{ old, data, want string }{
		"into nothing":         {"-", "\\a\\1\\b\\2\x00", "\\a\\1\\b\\2\x00"},
		"update and append":    {"\\a\\1\\b\\2\x00", "\\b\\3\\c\\4\x00", "\\a\\1\\b\\3\\c\\4\x00"},
		"empty value":          {"\\a\\1\\b\\2\x00", "\\a\\\x00", "\\a\\\\b\\2\x00"},
		"without NUL":          {"\\a\\1", "\\b\\2", "\\a\\1\\b\\2\x00"},
		"key without a value":  {"-", "\\a\x00", "\\a\\\x00"},
		"backslash at the end": {"\\a\\1\\", "\\b\\\\", "\\a\\1\\b\\\x00"},
		"same key twice":       {"-", "\\a\\1\\a\\2\x00", "\\a\\2\x00"},
		"case matters":         {"\\a\\1\x00", "\\A\\2\x00", "\\a\\1\\A\\2\x00"},
		"into other data":      {"raw", "\\a\\1\x00", "\\a\\1\x00"},
		"no pairs":             {"\\a\\1\x00", "", "\\a\\1\x00"},
		"no list":              {"\\a\\1\x00", "a\\2", "error"},
	}
	b, _ := openBook(t, 1, Options{})
	index := int32(0)
	for name, test := range tests {
		index++
		id := block("gmtest", index)
		if test.old != "-" {
			if _, err := b.Set(t.Context(), id, []byte(test.old)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := b.Merge(t.Context(), id, []byte(test.data))
		if test.want == "error" {
			if got := dataOf(t, b, id); !errors.Is(err, ErrPairs) || got != test.old {
				t.Errorf("%s: Merge() = %v, data %q, want ErrPairs and no change", name, err, got)
			}
		} else if got := dataOf(t, b, id); err != nil || got != test.want {
			t.Errorf("%s: %v, data %q, want %q", name, err, got, test.want)
		}
	}
}

func TestSelect(t *testing.T) {
	b, _ := openBook(t, 1, Options{})
	if _, err := b.Set(t.Context(), block("gmtest", 0), []byte("\\clan\\The A-Team\\age\\15\x00")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Set(t.Context(), block("gmtest", 1), []byte("raw")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		index int32
		keys  []string
		want  string
	}{
		"in the order asked": {0, []string{"age", "clan"}, "\\age\\15\\clan\\The A-Team\x00"},
		"missing":            {0, []string{"rank", "age"}, "\\rank\\\\age\\15\x00"},
		"twice":              {0, []string{"age", "age", "age"}, "\\age\\15\x00"},
		"none":               {0, nil, "\x00"},
		"no list":            {1, []string{"age"}, "\\age\\\x00"},
	} {
		got, err := b.Select(t.Context(), block("gmtest", test.index), test.keys, "")
		if string(got.Data) != test.want || err != nil || got.Modified.IsZero() {
			t.Errorf("%s: Select() = %q, %v, want %q", name, got.Data, err, test.want)
		}
	}
	if _, err := b.Select(t.Context(), block("gmtest", 2), []string{"age"}, ""); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Select() of no block = %v, want ErrNotFound", err)
	}
	for index, want := range []string{"\\rank\\0\\age\\15\x00", "\\rank\\0\\age\\0\x00", "\\rank\\0\\age\\0\x00"} {
		got, err := b.Select(t.Context(), block("gmtest", int32(index)), []string{"rank", "age"}, "0")
		if string(got.Data) != want || errors.Is(err, storage.ErrNotFound) != (index == 2) {
			t.Errorf("Select() with 0 of block %d = %q, %v, want %q", index, got.Data, err, want)
		}
	}
}

// boards are those of the game of the tests.
func boards(game string) []games.Board {
	if game != "gmtest" {
		return nil
	}
	return []games.Board{
		{Name: "kills", Key: "score", How: games.BoardSum},
		{Name: "best", Key: "score", How: games.BoardMax},
		{Name: "rating", Key: "rating", How: games.BoardLast},
	}
}

func pairs(text string) []Pair {
	list, err := ParsePairs([]byte(text))
	if err != nil {
		panic(err)
	}
	return list
}

// scores returns the scores of a profile.
func scores(t *testing.T, b *Book, p storage.ProfileID) string {
	t.Helper()
	var all []string
	for s, err := range b.Scores(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s=%v", s.Board, s.Value))
	}
	return strings.Join(all, " ")
}

// counters returns the values of counters by name and label.
func counters(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetCounter().GetValue()
		}
	}
	return all
}

func TestReport(t *testing.T) {
	registry := prometheus.NewRegistry()
	b, _ := openBook(t, 3, Options{Boards: boards, Registerer: registry})
	final := Snapshot{
		Game: "gmtest", Conn: 1, Session: -5, Done: true, Trusted: true, Proved: func(p storage.ProfileID) bool { return p != 2 },
		Pairs: pairs(`\hostname\A\score_10\7\pid_0\1\score_0\5\rating_0\1.500000\pid_1\2\score_1\50\player_2\Nick\score_2\99\pid_10\1\pid_3\3\score_3\nan\pid_4\99\score_4\1`),
	}
	begin, update, repeated := final, final, final
	begin.Begin, begin.Done, begin.Pairs = true, false, nil
	update.Done = false
	repeated.Pairs = pairs(`\pid_0\1\score_0\1000`)
	for i, s := range []Snapshot{begin, update, final, final, repeated} {
		if err := b.Report(t.Context(), s); err != nil {
			t.Fatalf("Report() of snapshot %d = %v", i, err)
		}
	}
	if got := scores(t, b, 1); got != "best=7 kills=12 rating=1.5" {
		t.Errorf("scores of the proved player = %s", got)
	}
	if got := scores(t, b, 2) + scores(t, b, 3); got != "" {
		t.Errorf("scores of others = %s, want none", got)
	}
	var reports []storage.Report
	for r, err := range b.Games(t.Context(), "gmtest", 0) {
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	if len(reports) != 1 || !reports[0].Done || fmt.Sprint(reports[0].Profiles) != "[1 3 99]" {
		t.Fatalf("Games() = %+v, want one final report of profiles 1, 3 and 99", reports)
	}
	if got, err := b.Game(t.Context(), reports[0].ID); err != nil || string(got.Pairs) != string(reports[0].Pairs) {
		t.Errorf("Game() = %+v, %v", got, err)
	}
	got := counters(t, registry)
	const want = "credits 5, error 0, ignored 2, ok 3, refused 0"
	if got := fmt.Sprintf("credits %v, error %v, ignored %v, ok %v, refused %v", got["respawnd_stats_scores_total"], got["respawnd_stats_games_total error"],
		got["respawnd_stats_games_total ignored"], got["respawnd_stats_games_total ok"], got["respawnd_stats_games_total refused"]); got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
}

func TestReportWithoutTrust(t *testing.T) {
	b, _ := openBook(t, 1, Options{Boards: boards})
	good := Snapshot{
		Game: "gmtest", Done: true, Trusted: true, Proved: func(storage.ProfileID) bool { return true },
		Pairs: pairs(`\pid_0\1\score_0\5`),
	}
	for i, change := range []func(*Snapshot){
		func(s *Snapshot) { s.Trusted = false },
		func(s *Snapshot) { s.Proved = nil },
		func(s *Snapshot) { s.Done = false },
		func(s *Snapshot) { s.Game = "gmtest2" },
		func(s *Snapshot) { s.Pairs = pairs(`\player_0\Nick\score_0\5`) },
	} {
		s := good
		s.Conn = uint64(i)
		change(&s)
		if err := b.Report(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := scores(t, b, 1); got != "" {
			t.Errorf("snapshot %d counts: %s", i, got)
		}
	}
	good.Conn = 100
	if err := b.Report(t.Context(), good); err != nil || scores(t, b, 1) != "best=5 kills=5" {
		t.Errorf("the good one = %v, scores %s", err, scores(t, b, 1))
	}
	rank, s, err := b.Rank(t.Context(), "gmtest", "kills", 1)
	if rank != 1 || s.Value != 5 || err != nil {
		t.Errorf("Rank() = %d, %+v, %v", rank, s, err)
	}
}

func TestReportLimits(t *testing.T) {
	registry := prometheus.NewRegistry()
	b, _ := openBook(t, 0, Options{Limits: Limits{KeepGames: 3}, Registerer: registry})
	for i := range uint64(5) {
		if err := b.Report(t.Context(), Snapshot{Game: "gmtest", Conn: i}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.mustTotals(t); got.Reports != 3 {
		t.Errorf("%d reports, want 3", got.Reports)
	}
	edge := []Pair{{"k", strings.Repeat("x", storage.MaxReportPairs-3)}}
	if err := b.Report(t.Context(), Snapshot{Game: "gmtest", Conn: 9, Pairs: edge}); err != nil {
		t.Errorf("Report() at the limit = %v", err)
	}
	edge[0].Key += "k"
	if err := b.Report(t.Context(), Snapshot{Game: "gmtest", Conn: 9, Pairs: edge}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Report() over the limit = %v, want ErrTooLarge", err)
	}
	if got := counters(t, registry)["respawnd_stats_games_dropped_total number"]; got != 3 {
		t.Errorf("%v reports were counted as dropped, want 3", got)
	}
}

// A connection number of an earlier run must not continue a game of that run.
func TestReportAfterRestart(t *testing.T) {
	b, store := openBook(t, 0, Options{})
	for _, book := range []*Book{b, New(store, Options{})} {
		if err := book.Report(context.Background(), Snapshot{Game: "gmtest", Conn: 1, Done: true}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.mustTotals(t); got.Reports != 2 {
		t.Errorf("%d reports of two runs, want 2", got.Reports)
	}
}

func TestNamed(t *testing.T) {
	for text, want := range map[string]int{
		``:                                   0,
		`\hostname\A\map_1\x\score_0\5`:      0,
		`\player_0\Ann\score_0\5\player_7\B`: 2,
		`\pid_0\1\player_0\Ann\nick_1\Ben`:   2,
		`\pID_3\9\name_4\Bot\name_5\\x\y`:    2,
		`\player_t0\Red`:                     0,
		`no list`:                            0,
	} {
		if got := Named([]byte(text)); got != want {
			t.Errorf("Named(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	m := Decode(pairs(`\hostname\A\team_t1\Red\kills_12\1\player_0\Ann\map_name\x\kills_0\9\v_-1\a\v_007\b\v_99999\c\_5\d\score_t1\3\v_t\e`))
	want := `{[{hostname A} {map_name x} {v_-1 a} {v_007 b} {v_99999 c} {_5 d} {v_t e}] ` +
		`[{0 [{player Ann} {kills 9}]} {12 [{kills 1}]}] [{1 [{team Red} {score 3}]}]}`
	if got := fmt.Sprint(m); got != want {
		t.Errorf("Decode() = %s\nwant %s", got, want)
	}
}

// mustTotals is Totals, which must succeed.
func (b *Book) mustTotals(t *testing.T) storage.StatTotals {
	t.Helper()
	n, err := b.Totals(t.Context())
	if err != nil {
		t.Error(err)
	}
	return n
}
