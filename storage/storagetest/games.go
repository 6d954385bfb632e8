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
	noErr(t, s.SetGames(t.Context(), []storage.Game{g}), "SetGames", g)
	return must(s.GetGame(t.Context(), g.Name))(t)
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
		"a game made again has another revision":    testGameAgain,
		"records beyond the limits are refused":     testGameLimits,
		"games are listed in order, page over page": testGameList,
		"a loop over games may change them":         testGameListChanging,
	}
}

func testGameLife(t *testing.T, s storage.Store) {
	want := game("gmtest")
	got := putGame(t, s, want)
	want.Rev = got.Rev
	differ(t, "SetGames", got, want)
	if got.Rev == 0 {
		t.Error("SetGames() left Rev 0")
	}
	got.Doc[0] = '!' // the caller owns the result
	read := must(s.GetGame(t.Context(), "gmtest"))(t)
	differ(t, "GetGame", read, want)

	read.Doc = nil
	updated := putGame(t, s, read)
	if updated.Rev <= read.Rev || updated.Doc != nil {
		t.Errorf("SetGames() after Rev %d = %+v", read.Rev, updated)
	}
	wantErr(t, s.DeleteGame(t.Context(), "gmtest"), nil, "DeleteGame()")
	wantErr(t, errOf(s.GetGame(t.Context(), "gmtest")), storage.ErrNotFound, "GetGame() after DeleteGame")
	wantErr(t, s.DeleteGame(t.Context(), "gmtest"), storage.ErrNotFound, "second DeleteGame()")
}

func testGameAgain(t *testing.T, s storage.Store) {
	old := putGame(t, s, game("gmtest"))
	noErr(t, s.DeleteGame(t.Context(), "gmtest"))
	if again := putGame(t, s, game("gmtest")); again.Rev <= old.Rev {
		t.Errorf("SetGames() of a deleted game gave it Rev %d after %d", again.Rev, old.Rev)
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
		wantErr(t, s.SetGames(t.Context(), []storage.Game{g}), storage.ErrInvalid, "%s: SetGames()", name)
	}
	for _, name := range []string{"", strings.Repeat("x", 1<<16)} {
		wantErr(t, errOf(s.GetGame(t.Context(), name)), storage.ErrNotFound, "GetGame(%d bytes)", len(name))
		wantErr(t, s.DeleteGame(t.Context(), name), storage.ErrNotFound, "DeleteGame(%d bytes)", len(name))
	}
}

// setGames stores many games, as many at once as a store takes.
func setGames(t *testing.T, s storage.Store, names iter.Seq2[int, string]) {
	t.Helper()
	var list []storage.Game
	for _, name := range names {
		if list = append(list, game(name)); len(list) == storage.MaxGamesAtOnce {
			noErr(t, s.SetGames(t.Context(), list))
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
	noErr(t, s.SetGames(t.Context(), list))
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
		wantErr(t, s.SetGames(t.Context(), bad), storage.ErrInvalid, "SetGames(%s)", name)
	}
	wantErr(t, errOf(s.GetGame(t.Context(), "c")), storage.ErrNotFound, "GetGame() of a refused list")
}
