package operator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/bans"
	"github.com/respawnd/respawnd/internal/chatrules"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// embedded stands for the built-in catalogue.
const embedded = `games:
  - {name: gmtest, title: Test, secret: HA6zkS, id: 7}
  - {name: nokey}
  - {name: rooms, rooms: [{id: 1, name: One}]}
`

// newLocal returns the operations on a fresh store without a daemon.
func newLocal(t *testing.T) *operator.Local {
	t.Helper()
	store := storetest.NewWhole(t)
	l := &operator.Local{
		Store: store, Table: bans.New(store), Rules: chatrules.New(store), Catalogue: &operator.Catalogue{Embedded: games.Embedded{Facts: []byte(embedded)}, Store: store},
	}
	if err := l.Catalogue.Load(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return l
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "games.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// store puts a document under a name, without any check of the catalogue.
func store(t *testing.T, l *operator.Local, name, doc string) {
	t.Helper()
	if err := l.Store.SetGames(t.Context(), []storage.Game{{Name: name, Doc: []byte(doc)}}); err != nil {
		t.Fatal(err)
	}
}

func TestCatalogueLayers(t *testing.T) {
	l := newLocal(t)
	store(t, l, "gmtest", "games: [{name: gmtest, title: From the store}]")
	file := write(t, "games: [{name: gmtest, title: From the file, id: 70}, {name: filed, secret: aB3dE6}]")
	if err := l.Catalogue.Load(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	g, _ := l.Catalogue.Catalog().Lookup("gmtest")
	if g.Title != "From the store" || g.ID != 70 || g.Secret() != "HA6zkS" || g.Source.Origin != games.FromStore {
		t.Errorf("game of three layers: %+v", g)
	}
	if g, ok := l.Catalogue.Catalog().Lookup("filed"); !ok || g.Source.Origin != games.FromFile {
		t.Errorf("game of the file: %+v, %v", g, ok)
	}
}

func TestCatalogueRoom(t *testing.T) {
	l := newLocal(t)
	added, err := operator.PutRoom.Call(t.Context(), l, operator.NewRoom{Game: "gmtest", Name: "Own"})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint32]string{1: "One of rooms", added.ID: "Own of gmtest"} {
		if r, game, ok := l.Catalogue.Room(id); !ok || r.ID != id || r.Name+" of "+game != want {
			t.Errorf("Room(%d) = %+v, %q, %v, want %s", id, r, game, ok, want)
		}
	}
	if err := operator.DeleteRoom.Exec(t.Context(), l, operator.RoomRef{ID: added.ID}); err != nil {
		t.Fatal(err)
	}
	if r, game, ok := l.Catalogue.Room(added.ID); ok {
		t.Errorf("Room() after its removal = %+v, %q", r, game)
	}
}

// TestSharedLists checks that lists are shared as soon as a record says so, and no
// longer than that.
func TestSharedLists(t *testing.T) {
	l := newLocal(t)
	var got [][]string
	l.Catalogue.Shared = func(lists [][]string) { got = lists }
	put := func(doc string) {
		t.Helper()
		list, err := games.ParseYAML(strings.NewReader(doc), games.Source{})
		if err == nil {
			err = operator.PutGames.Exec(t.Context(), l, list)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("games: [{name: gmtest, aliases: [nokey], shared_list: on}]")
	if len(got) != 1 || strings.Join(got[0], " ") != "gmtest nokey" {
		t.Errorf("shared lists: %v, want one of gmtest and nokey", got)
	}
	put("games: [{name: gmtest, aliases: [nokey], shared_list: off}]")
	if len(got) != 0 {
		t.Errorf("shared lists: %v, want none", got)
	}
}

func TestLoadFailure(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, l *operator.Local) string{
		"file is missing": func(t *testing.T, _ *operator.Local) string { return filepath.Join(t.TempDir(), "none") },
		"file is no YAML": func(t *testing.T, _ *operator.Local) string { return write(t, "games: [") },
		"file is wrong":   func(t *testing.T, _ *operator.Local) string { return write(t, "games: [{name: new}, {name: 'a b'}]") },
		"file clashes": func(t *testing.T, _ *operator.Local) string {
			return write(t, "games: [{name: new, rooms: [{id: 1, name: x}]}, {name: other, rooms: [{id: 1, name: y}]}]")
		},
		"store is wrong":   func(t *testing.T, l *operator.Local) string { store(t, l, "x", "games: [{name: 'a b'}]"); return "" },
		"store is no YAML": func(t *testing.T, l *operator.Local) string { store(t, l, "x", "]"); return "" },
		"embedded is wrong": func(_ *testing.T, l *operator.Local) string {
			l.Catalogue.Embedded = games.Embedded{Facts: []byte("games: [{}]")}
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t)
			ctx := t.Context()
			good := write(t, "games: [{name: good}]")
			if err := l.Catalogue.Load(ctx, good); err != nil {
				t.Fatal(err)
			}
			if _, err := operator.PutRoom.Call(ctx, l, operator.NewRoom{Game: "gmtest", Name: "Lobby"}); err != nil {
				t.Fatal(err)
			}
			old := len(l.Catalogue.Rooms("gmtest"))
			if _, err := l.Store.PutRoom(ctx, storage.Room{Game: "gmtest", Name: "Not in force yet"}); err != nil {
				t.Fatal(err)
			}
			path := spoil(t, l)
			if err := l.Catalogue.Load(ctx, path); err == nil {
				t.Fatal("Load returned nil")
			}
			if _, ok := l.Catalogue.Catalog().Lookup("good"); !ok || l.Catalogue.Catalog().Len() != 4 {
				t.Errorf("%d games after a reload that failed, want the old 4", l.Catalogue.Catalog().Len())
			}
			if n := len(l.Catalogue.Rooms("gmtest")); n != old {
				t.Errorf("%d rooms after a reload that failed, want the old %d", n, old)
			}
			if path == "" { // the rest is spoiled, not the file
				return
			}
			if err := l.Catalogue.Reload(ctx); err != nil {
				t.Errorf("Reload of the old file: %v", err)
			}
		})
	}
}

func TestReloadCanceled(t *testing.T) {
	l := newLocal(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Catalogue.Reload(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Reload: %v, want context.Canceled", err)
	}
	if n := l.Catalogue.Catalog().Len(); n != 3 {
		t.Errorf("%d games, want the old 3", n)
	}
}

func TestCheckGamesFile(t *testing.T) {
	for name, tc := range map[string]struct{ text, part string }{
		"good":   {"games: [{name: good}]", ""},
		"wrong":  {"games: [{name: 'a b'}]", "a b"},
		"clash":  {"games: [{name: new, rooms: [{id: 1, name: x}]}, {name: other, rooms: [{id: 1, name: y}]}]", "room 1"},
		"syntax": {"games: [", "games.file"},
	} {
		_, err := operator.ReadGames(write(t, tc.text))
		if (err == nil) != (tc.part == "") || (err != nil && !strings.Contains(err.Error(), tc.part)) {
			t.Errorf("%s: ReadGames: %v, want %q in it", name, err, tc.part)
		}
	}
	if c, err := operator.ReadGames(""); err != nil || c.Len() < 2000 {
		t.Errorf("ReadGames of no file: %v", err)
	}
}
