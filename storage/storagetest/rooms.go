package storagetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func room(game, name string) storage.Room {
	return storage.Room{
		Game: game, Name: name, MaxWaiting: 50,
		Fields: []storage.Field{{Name: "zeta", Value: "1"}, {Name: "alpha"}, {Name: "zeta", Value: "2"}},
	}
}

func putRoom(t *testing.T, s storage.Store, r storage.Room) storage.Room {
	t.Helper()
	stored, err := s.PutRoom(t.Context(), r)
	if err != nil {
		t.Fatalf("PutRoom(%+v) = %v", r, err)
	}
	return stored
}

// roomIDs returns the ids of a game's rooms.
func roomIDs(t *testing.T, s storage.Store, game string) []uint32 {
	t.Helper()
	var ids []uint32
	for _, r := range collect(t, s.Rooms(t.Context(), game)) {
		ids = append(ids, r.ID)
	}
	return ids
}

func roomTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"create, read, update, delete":          testRoomLife,
		"revisions are checked":                 testRoomRev,
		"ids are unique over all games":         testRoomUnique,
		"a free id is given out":                testRoomFreeID,
		"a room can move to another game":       testRoomMove,
		"games with a common beginning differ":  testRoomPrefix,
		"records beyond the limits are refused": testRoomLimits,
		"one of many creators wins an id":       testRoomCreateRace,
		"one of many updaters wins":             testRoomUpdateRace,
		"creators at once get different ids":    testRoomFreeIDRace,
	}
}

func testRoomLife(t *testing.T, s storage.Store) {
	want := room("gmtest", "Newcomers")
	got := putRoom(t, s, want)
	if got.ID == 0 || got.Rev == 0 {
		t.Fatalf("PutRoom() = %+v, want an id and a revision", got)
	}
	want.ID, want.Rev = got.ID, got.Rev
	differ(t, "PutRoom", got, want)
	got.Fields[0].Value = "mine" // the caller owns the result
	read := must(s.GetRoom(t.Context(), want.ID))(t)
	differ(t, "GetRoom", read, want)
	read.Name = "Veterans"
	updated := putRoom(t, s, read)
	if updated.Rev <= read.Rev || updated.Name != "Veterans" || updated.ID != read.ID {
		t.Errorf("PutRoom() after %+v = %+v", read, updated)
	}
	wantErr(t, s.DeleteRoom(t.Context(), want.ID), nil, "DeleteRoom()")
	wantErr(t, errOf(s.GetRoom(t.Context(), want.ID)), storage.ErrNotFound, "GetRoom() after DeleteRoom")
	wantErr(t, s.DeleteRoom(t.Context(), want.ID), storage.ErrNotFound, "second DeleteRoom()")
	if ids := roomIDs(t, s, "gmtest"); len(ids) != 0 {
		t.Errorf("Rooms() after DeleteRoom = %v, want none", ids)
	}
}

func testRoomRev(t *testing.T, s storage.Store) {
	first := putRoom(t, s, room("gmtest", "A"))
	putRoom(t, s, first)
	wantErr(t, errOf(s.PutRoom(t.Context(), first)), storage.ErrConflict, "PutRoom() with an old Rev")
	unknown := first
	unknown.ID += 100
	wantErr(t, errOf(s.PutRoom(t.Context(), unknown)), storage.ErrNotFound, "PutRoom() of an unknown room")
}

func testRoomUnique(t *testing.T, s storage.Store) {
	r := room("gmtest", "A")
	r.ID = 5
	want := putRoom(t, s, r)
	r.Game = "other"
	_, err := s.PutRoom(t.Context(), r)
	wantTaken(t, "PutRoom() with the id of another game's room", err, storage.IndexRoomID)
	got := must(s.GetRoom(t.Context(), 5))(t)
	differ(t, "GetRoom", got, want)
	if ids := roomIDs(t, s, "other"); len(ids) != 0 {
		t.Errorf("Rooms(other) = %v, want none", ids)
	}
}

func testRoomFreeID(t *testing.T, s storage.Store) {
	first := putRoom(t, s, room("gmtest", "A"))
	if first.ID < storage.FirstFreeRoomID {
		t.Errorf("PutRoom() gave out %d, which a built-in room may have", first.ID)
	}
	chosen := room("gmtest", "chosen")
	chosen.ID = first.ID + 1
	putRoom(t, s, chosen)
	noErr(t, s.DeleteRoom(t.Context(), first.ID))
	next := putRoom(t, s, room("gmtest", "B"))
	if next.ID == first.ID || next.ID == chosen.ID {
		t.Errorf("PutRoom() gave out %d, which is the id of another room or of one that was deleted", next.ID)
	}
	differ(t, "ids", roomIDs(t, s, "gmtest"), []uint32{chosen.ID, next.ID})
}

func testRoomMove(t *testing.T, s storage.Store) {
	r := putRoom(t, s, room("one", "A"))
	r.Game = "two"
	r = putRoom(t, s, r)
	differ(t, "rooms of the old game", roomIDs(t, s, "one"), nil)
	differ(t, "rooms of the new game", collect(t, s.Rooms(t.Context(), "two")), []storage.Room{r})
}

func testRoomPrefix(t *testing.T, s storage.Store) {
	for id, game := range map[uint32]string{9: "gm", 2: "gmtest", 300: "gm", 1 << 20: "gm", 4: "g"} {
		r := room(game, "A")
		r.ID = id
		putRoom(t, s, r)
	}
	differ(t, "ids of gm", roomIDs(t, s, "gm"), []uint32{9, 300, 1 << 20})
	differ(t, "ids of an unknown game", roomIDs(t, s, "unknown"), nil)
	differ(t, "all ids", roomIDs(t, s, ""), []uint32{2, 4, 9, 300, 1 << 20})
}

func testRoomLimits(t *testing.T, s storage.Store) {
	edge := room(strings.Repeat("g", storage.MaxGameName), strings.Repeat("n", storage.MaxRoomName))
	edge.ID, edge.MaxWaiting = storage.MaxRoomID, math.MaxInt32
	edge.Fields = slices.Repeat([]storage.Field{{
		Name: strings.Repeat("f", storage.MaxFieldName), Value: strings.Repeat("v", storage.MaxFieldValue),
	}}, storage.MaxRoomFields)
	putRoom(t, s, edge)

	tests := map[string]func(*storage.Room){
		"high id":         func(r *storage.Room) { r.ID = storage.MaxRoomID + 1 },
		"Rev without id":  func(r *storage.Room) { r.ID, r.Rev = 0, 1 },
		"negative":        func(r *storage.Room) { r.MaxWaiting = -1 },
		"no game":         func(r *storage.Room) { r.Game = "" },
		"long game":       func(r *storage.Room) { r.Game += "g" },
		"no name":         func(r *storage.Room) { r.Name = "" },
		"long name":       func(r *storage.Room) { r.Name += "n" },
		"many fields":     func(r *storage.Room) { r.Fields = append(r.Fields, r.Fields[0]) },
		"no field name":   func(r *storage.Room) { r.Fields[0].Name = "" },
		"long field name": func(r *storage.Room) { r.Fields[0].Name += "f" },
		"long value":      func(r *storage.Room) { r.Fields[0].Value += "v" },
		"newline":         func(r *storage.Room) { r.Fields[0].Value = "a\nb" },
	}
	for name, spoil := range tests {
		r := edge
		r.ID, r.Fields = 1, slices.Clone(edge.Fields)
		spoil(&r)
		wantErr(t, errOf(s.PutRoom(t.Context(), r)), storage.ErrInvalid, "%s: PutRoom()", name)
	}
	differ(t, "ids", roomIDs(t, s, ""), []uint32{storage.MaxRoomID})
}

func testRoomUpdateRace(t *testing.T, s storage.Store) {
	r := putRoom(t, s, room("gmtest", "A"))
	oneWon(t, race(func(int) error {
		_, err := s.PutRoom(t.Context(), r)
		return err
	}), storage.ErrConflict)
}

func testRoomCreateRace(t *testing.T, s storage.Store) {
	oneWon(t, race(func(i int) error {
		r := room("gmtest", "A")
		if i%2 == 0 {
			r.Game = "other"
		}
		r.ID = 5
		_, err := s.PutRoom(t.Context(), r)
		return err
	}), storage.ErrTaken)
	if n := len(roomIDs(t, s, "gmtest")) + len(roomIDs(t, s, "other")); n != 1 {
		t.Errorf("%d rooms are listed, want 1", n)
	}
}

func testRoomFreeIDRace(t *testing.T, s storage.Store) {
	var mu sync.Mutex
	ids := map[uint32]int{}
	errs := race(func(int) error {
		r, err := s.PutRoom(t.Context(), room("gmtest", "A"))
		mu.Lock()
		defer mu.Unlock()
		ids[r.ID]++
		return err
	})
	noErr(t, errors.Join(errs...))
	if len(ids) != racers {
		t.Errorf("%d racers got the ids %v", racers, ids)
	}
}
