package operator

import (
	"errors"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

func TestSake(t *testing.T) {
	s := storetest.NewWhole(t)
	_, p, err := s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "Ann"})
	if err != nil {
		t.Fatal(err)
	}
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	for range 3 {
		if _, err := s.CreateSakeRecord(t.Context(), table, p.ID, nil, storage.SakeLimits{}); err != nil {
			t.Fatal(err)
		}
	}
	l := &Local{Store: s}
	ids := func(q SakeQuery) (ids []uint32) {
		t.Helper()
		q.Game, q.Table = "GMTEST", "Levels"
		list, err := l.SakeRecords(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		return ids
	}
	for name, test := range map[string]struct {
		q    SakeQuery
		want int
	}{
		"all": {SakeQuery{}, 3}, "after": {SakeQuery{After: 2}, 1}, "limit": {SakeQuery{Limit: 2}, 2}, "owner": {SakeQuery{Owner: p.ID, After: 1}, 2},
		"other owner": {SakeQuery{Owner: 9}, 0},
	} {
		if got := ids(test.q); len(got) != test.want {
			t.Errorf("%s: records %v, want %d", name, got, test.want)
		}
	}
	if tables, err := l.SakeTables(t.Context(), "GmTest"); err != nil || len(tables) != 1 || tables[0].Records != 3 {
		t.Errorf("SakeTables() = %+v, %v", tables, err)
	}
	if _, err := l.SakeTables(t.Context(), ""); !errors.Is(err, ErrBadRequest) {
		t.Errorf("SakeTables() of no game = %v, want ErrBadRequest", err)
	}
	if n, err := l.DeleteSake(t.Context(), SakeTarget{"gmtest", "levels", 2}); n != 1 || err != nil {
		t.Errorf("DeleteSake() of a record = %d, %v", n, err)
	}
	if _, err := l.DeleteSake(t.Context(), SakeTarget{"gmtest", "levels", 2}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("DeleteSake() again = %v, want ErrNotFound", err)
	}
	if n, err := l.DeleteSake(t.Context(), SakeTarget{Game: "gmtest", Table: "levels"}); n != 2 || err != nil {
		t.Errorf("DeleteSake() of a table = %d, %v", n, err)
	}
	if _, err := l.SakeRecords(t.Context(), SakeQuery{Game: "gmtest", Table: "levels"}); !errors.Is(err, storage.ErrNoTable) {
		t.Errorf("SakeRecords() of a deleted table = %v, want ErrNoTable", err)
	}
}
