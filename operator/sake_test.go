package operator_test

import (
	"errors"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/operator"
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
	l := &operator.Local{Store: s}
	ids := func(q operator.SakeQuery) (ids []uint32) {
		t.Helper()
		q.Game, q.Table = "GMTEST", "Levels"
		list, err := operator.ListSakeRecords.Call(t.Context(), l, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		return ids
	}
	for name, test := range map[string]struct {
		q    operator.SakeQuery
		want int
	}{
		"all": {operator.SakeQuery{}, 3}, "after": {operator.SakeQuery{After: 2}, 1}, "limit": {operator.SakeQuery{Limit: 2}, 2}, "owner": {operator.SakeQuery{Owner: p.ID, After: 1}, 2},
		"other owner": {operator.SakeQuery{Owner: 9}, 0},
	} {
		if got := ids(test.q); len(got) != test.want {
			t.Errorf("%s: records %v, want %d", name, got, test.want)
		}
	}
	if tables, err := operator.ListSakeTables.Call(t.Context(), l, operator.SakeGame{Game: "GmTest"}); err != nil || len(tables) != 1 || tables[0].Records != 3 {
		t.Errorf("SakeTables() = %+v, %v", tables, err)
	}
	if _, err := operator.ListSakeTables.Call(t.Context(), l, operator.SakeGame{Game: ""}); !errors.Is(err, operator.ErrBadRequest) {
		t.Errorf("SakeTables() of no game = %v, want ErrBadRequest", err)
	}
	if n, err := operator.DeleteSake.Call(t.Context(), l, operator.SakeTarget{"gmtest", "levels", 2}); n.Removed != 1 || err != nil {
		t.Errorf("DeleteSake() of a record = %d, %v", n, err)
	}
	if _, err := operator.DeleteSake.Call(t.Context(), l, operator.SakeTarget{"gmtest", "levels", 2}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("DeleteSake() again = %v, want ErrNotFound", err)
	}
	if n, err := operator.DeleteSake.Call(t.Context(), l, operator.SakeTarget{Game: "gmtest", Table: "levels"}); n.Removed != 2 || err != nil {
		t.Errorf("DeleteSake() of a table = %d, %v", n, err)
	}
	if _, err := operator.ListSakeRecords.Call(t.Context(), l, operator.SakeQuery{Game: "gmtest", Table: "levels"}); !errors.Is(err, storage.ErrNoTable) {
		t.Errorf("SakeRecords() of a deleted table = %v, want ErrNoTable", err)
	}
}
