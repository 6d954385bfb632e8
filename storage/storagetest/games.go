package storagetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func game(name string) storage.Game {
	return storage.Game{Name: name, Doc: []byte("name: " + name + "\n"), Changed: moment()}
}

func putGame(t *testing.T, s storage.Store, g storage.Game) storage.Game {
	t.Helper()
	stored, err := s.PutGame(t.Context(), g)
	if err != nil {
		t.Fatalf("PutGame(%+v) = %v", g, err)
	}
	return stored
}

// wantTaken checks an error for a key that another record has.
func wantTaken(t *testing.T, what string, err error, index string) {
	t.Helper()
	taken, ok := errors.AsType[*storage.TakenError](err)
	if !ok || !errors.Is(err, storage.ErrTaken) || taken.Index != index {
		t.Errorf("%s = %v, want a TakenError of %s", what, err, index)
	}
}

func gameTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"create, read, update, delete":              testGameLife,
		"many are set at once, whatever their Rev":  testGamesAtOnce,
		"revisions are checked":                     testGameRev,
		"a game made again has another revision":    testGameAgain,
		"records beyond the limits are refused":     testGameLimits,
		"one of many creators wins":                 testGameCreateRace,
		"one of many updaters wins":                 testGameUpdateRace,
		"games are listed in order, page over page": testGameList,
		"a loop over games may change them":         testGameListChanging,
	}
}

func testGameLife(t *testing.T, s storage.Store) {
	want := game("gmtest")
	got := putGame(t, s, want)
	want.Rev = got.Rev
	differ(t, "PutGame", got, want)
	if got.Rev == 0 {
		t.Error("PutGame() left Rev 0")
	}
	got.Doc[0] = '!' // the caller owns the result
	read, err := s.GetGame(t.Context(), "gmtest")
	if err != nil {
		t.Fatalf("GetGame() = %v", err)
	}
	differ(t, "GetGame", read, want)

	read.Doc = nil
	updated := putGame(t, s, read)
	if updated.Rev <= read.Rev || updated.Doc != nil {
		t.Errorf("PutGame() after Rev %d = %+v", read.Rev, updated)
	}
	if err := s.DeleteGame(t.Context(), "gmtest"); err != nil {
		t.Errorf("DeleteGame() = %v", err)
	}
	if _, err := s.GetGame(t.Context(), "gmtest"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("GetGame() after DeleteGame = %v, want ErrNotFound", err)
	}
	if err := s.DeleteGame(t.Context(), "gmtest"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("second DeleteGame() = %v, want ErrNotFound", err)
	}
}

func testGameRev(t *testing.T, s storage.Store) {
	first := putGame(t, s, game("gmtest"))
	_, err := s.PutGame(t.Context(), game("gmtest"))
	wantTaken(t, "PutGame() with Rev 0", err, storage.IndexGameName)
	second := putGame(t, s, first)
	if _, err := s.PutGame(t.Context(), first); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("PutGame() with an old Rev = %v, want ErrConflict", err)
	}
	unknown := game("other")
	unknown.Rev = second.Rev
	if _, err := s.PutGame(t.Context(), unknown); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("PutGame() of an unknown game = %v, want ErrNotFound", err)
	}
	got, err := s.GetGame(t.Context(), "gmtest")
	if err != nil {
		t.Fatal(err)
	}
	differ(t, "GetGame after refusals", got, second)
}

func testGameAgain(t *testing.T, s storage.Store) {
	old := putGame(t, s, game("gmtest"))
	if err := s.DeleteGame(t.Context(), "gmtest"); err != nil {
		t.Fatal(err)
	}
	putGame(t, s, game("gmtest"))
	if _, err := s.PutGame(t.Context(), old); !errors.Is(err, storage.ErrConflict) {
		t.Errorf("PutGame() with the Rev of a deleted game = %v, want ErrConflict", err)
	}
}

func testGameLimits(t *testing.T, s storage.Store) {
	edge := game(strings.Repeat("n", storage.MaxGameName))
	edge.Doc = make([]byte, storage.MaxGameDoc)
	putGame(t, s, edge)
	tests := map[string]storage.Game{
		"no name":   game(""),
		"long name": game(strings.Repeat("n", storage.MaxGameName+1)),
		"NUL":       game("a\x00b"),
		"not UTF-8": game("\xc3"),
		"long doc":  {Name: "g", Doc: make([]byte, storage.MaxGameDoc+1)},
	}
	for name, g := range tests {
		if _, err := s.PutGame(t.Context(), g); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%s: PutGame() = %v, want ErrInvalid", name, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 1<<16)} {
		if _, err := s.GetGame(t.Context(), name); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("GetGame(%d bytes) = %v, want ErrNotFound", len(name), err)
		}
		if err := s.DeleteGame(t.Context(), name); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("DeleteGame(%d bytes) = %v, want ErrNotFound", len(name), err)
		}
	}
}

func testGameCreateRace(t *testing.T, s storage.Store) {
	errs := race(func(i int) error {
		g := game("gmtest")
		g.Doc = fmt.Appendf(nil, "by %d", i)
		_, err := s.PutGame(t.Context(), g)
		return err
	})
	oneWon(t, errs, storage.ErrTaken)
	got, err := s.GetGame(t.Context(), "gmtest")
	if want := fmt.Sprintf("by %d", slices.Index(errs, nil)); err != nil || string(got.Doc) != want {
		t.Errorf("GetGame() = %q, %v, want the winner's %q", got.Doc, err, want)
	}
}

func testGameUpdateRace(t *testing.T, s storage.Store) {
	g := putGame(t, s, game("gmtest"))
	oneWon(t, race(func(int) error {
		_, err := s.PutGame(t.Context(), g)
		return err
	}), storage.ErrConflict)
}

// setGames stores many games, as many at once as a store takes.
func setGames(t *testing.T, s storage.Store, names iter.Seq2[int, string]) {
	t.Helper()
	var list []storage.Game
	for _, name := range names {
		if list = append(list, game(name)); len(list) == storage.MaxGamesAtOnce {
			if err := s.SetGames(t.Context(), list); err != nil {
				t.Fatalf("SetGames() = %v", err)
			}
			list = nil
		}
	}
	if len(list) > 0 {
		t.Fatalf("%d games are left over", len(list))
	}
}

func testGameList(t *testing.T, s storage.Store) {
	var want []string
	for i := range 600 {
		want = append(want, fmt.Sprintf("game%03d", i))
	}
	setGames(t, s, slices.Backward(want))
	var got []string
	for _, g := range collect(t, s.Games(t.Context())) {
		got = append(got, g.Name)
	}
	differ(t, "names", got, want)
	for _, err := range s.Games(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

func testGameListChanging(t *testing.T, s storage.Store) {
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("m%03d", i))
	}
	setGames(t, s, slices.All(names))
	seen := map[string]int{}
	for g, err := range s.Games(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen[g.Name]++
		if len(seen) == 5 { // some before and some after the current position
			putGame(t, s, game("a"))
			putGame(t, s, game("z"))
			if err := s.DeleteGame(t.Context(), "m000"); err != nil {
				t.Error(err)
			}
		}
	}
	for i := 1; i < 400; i++ {
		if name := fmt.Sprintf("m%03d", i); seen[name] != 1 {
			t.Errorf("%s was seen %d times, want once", name, seen[name])
		}
	}
}

func testGamesAtOnce(t *testing.T, s storage.Store) {
	old := putGame(t, s, game("a"))
	list := []storage.Game{game("a"), game("b")}
	list[0].Doc = []byte("changed")
	if err := s.SetGames(t.Context(), list); err != nil {
		t.Fatalf("SetGames() = %v", err)
	}
	for _, want := range list {
		got, err := s.GetGame(t.Context(), want.Name)
		if err != nil || string(got.Doc) != string(want.Doc) || got.Rev == 0 || got.Rev == old.Rev {
			t.Errorf("GetGame(%q) = %+v, %v after SetGames", want.Name, got, err)
		}
	}
	for name, bad := range map[string][]storage.Game{
		"one too many":  make([]storage.Game, storage.MaxGamesAtOnce+1),
		"one is broken": {game("c"), {Name: ""}},
	} {
		if err := s.SetGames(t.Context(), bad); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("SetGames(%s) = %v, want ErrInvalid", name, err)
		}
	}
	if _, err := s.GetGame(t.Context(), "c"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("GetGame() of a refused list = %v, want ErrNotFound", err)
	}
}
