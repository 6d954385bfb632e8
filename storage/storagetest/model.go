package storagetest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// model is a simple model of a store.
type model struct {
	games map[string]storage.Game
	rooms map[uint32]storage.Room
}

// testModel makes random changes of games and rooms, compares each result with
// the model, and the contents at the end. All histories use one store, so that
// later ones start with a used store.
func testModel(t *testing.T, s storage.Store) {
	racetest.Skip(t, "makes many changes")
	m := model{games: map[string]storage.Game{}, rooms: map[uint32]storage.Room{}}
	rapid.Check(t, func(r *rapid.T) {
		r.Repeat(map[string]func(*rapid.T){
			"SetGames":   func(r *rapid.T) { m.setGame(t, r, s) },
			"DeleteGame": func(r *rapid.T) { m.deleteGame(t, r, s) },
			"PutRoom":    func(r *rapid.T) { m.putRoom(t, r, s) },
			"DeleteRoom": func(r *rapid.T) { m.deleteRoom(t, r, s) },
		})
		m.compare(t.Context(), r, s)
	})
}

// drawName draws one of a few names, so that changes collide.
func drawName(r *rapid.T) string { return rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(r, "name") }
func drawID(r *rapid.T) uint32   { return rapid.Uint32Range(1, 4).Draw(r, "id") }

// drawRev returns 0, the current revision or a wrong one.
func drawRev(r *rapid.T, current storage.Rev) storage.Rev {
	return rapid.SampledFrom([]storage.Rev{0, current, current + 1}).Draw(r, "rev")
}

// wantPut is the expected error of a Put.
func wantPut(given, current storage.Rev) error {
	switch {
	case given == 0 && current != 0:
		return storage.ErrTaken
	case given != 0 && current == 0:
		return storage.ErrNotFound
	case given != current:
		return storage.ErrConflict
	}
	return nil
}

func (m model) setGame(t *testing.T, r *rapid.T, s storage.Store) {
	g := game(drawName(r))
	current := m.games[g.Name].Rev
	g.Rev = drawRev(r, current)
	err := s.SetGames(t.Context(), []storage.Game{g})
	stored, lost := s.GetGame(t.Context(), g.Name)
	if err != nil || lost != nil || stored.Rev <= current {
		r.Fatalf("SetGames(%q, rev %d) = %v, with rev %d before, %d, %v after it", g.Name, g.Rev, err, current, stored.Rev, lost)
	}
	m.games[g.Name] = stored
}

func (m model) deleteGame(t *testing.T, r *rapid.T, s storage.Store) {
	name := drawName(r)
	var want error
	if _, ok := m.games[name]; !ok {
		want = storage.ErrNotFound
	}
	if err := s.DeleteGame(t.Context(), name); !errors.Is(err, want) {
		r.Fatalf("DeleteGame(%q) = %v, want %v", name, err, want)
	}
	delete(m.games, name)
}

func (m model) putRoom(t *testing.T, r *rapid.T, s storage.Store) {
	v := room(drawName(r), "A")
	v.ID = drawID(r)
	current := m.rooms[v.ID].Rev
	v.Rev = drawRev(r, current)
	stored, err := s.PutRoom(t.Context(), v)
	if want := wantPut(v.Rev, current); !errors.Is(err, want) {
		r.Fatalf("PutRoom(%d, rev %d) with rev %d stored = %v, want %v", v.ID, v.Rev, current, err, want)
	}
	if err == nil {
		m.rooms[v.ID] = stored
	}
}

func (m model) deleteRoom(t *testing.T, r *rapid.T, s storage.Store) {
	id := drawID(r)
	var want error
	if _, ok := m.rooms[id]; !ok {
		want = storage.ErrNotFound
	}
	if err := s.DeleteRoom(t.Context(), id); !errors.Is(err, want) {
		r.Fatalf("DeleteRoom(%d) = %v, want %v", id, err, want)
	}
	delete(m.rooms, id)
}

func (m model) compare(ctx context.Context, r *rapid.T, s storage.Store) {
	games := slices.SortedFunc(maps.Values(m.games), func(a, b storage.Game) int { return cmp.Compare(a.Name, b.Name) })
	rooms := slices.SortedFunc(maps.Values(m.rooms), func(a, b storage.Room) int { return cmp.Compare(a.ID, b.ID) })
	differ(r, "games", collect(r, s.Games(ctx)), games)
	differ(r, "rooms", collect(r, s.Rooms(ctx, "")), rooms)
	for _, name := range []string{"a", "ab", "b"} {
		of := slices.DeleteFunc(slices.Clone(rooms), func(v storage.Room) bool { return v.Game != name })
		differ(r, "rooms of "+name, collect(r, s.Rooms(ctx, name)), of)
	}
}
