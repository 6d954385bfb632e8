package operator_test

import (
	"errors"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func TestClans(t *testing.T) {
	s := storetest.NewWhole(t)
	_, p, err := s.CreateUser(t.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "Ann"})
	if err != nil {
		t.Fatal(err)
	}
	l := &operator.Local{Store: s}
	in := operator.NewClanMember{Profile: p.ID, Tag: "ABC", Rank: 1}
	for name, bad := range map[string]operator.NewClanMember{"no tag": {Profile: p.ID, Rank: 1}, "rank 0": {Profile: p.ID, Tag: "ABC"}} {
		if _, err := operator.AddClanMember.Call(t.Context(), l, bad); !errors.Is(err, operator.ErrBadRequest) {
			t.Errorf("%s: %v, want ErrBadRequest", name, err)
		}
	}
	if _, err := operator.AddClanMember.Call(t.Context(), l, operator.NewClanMember{Profile: 99, Tag: "ABC", Rank: 1}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("an unknown profile: %v, want ErrNotFound", err)
	}
	if m, err := operator.AddClanMember.Call(t.Context(), l, in); err != nil || m.Tag != "ABC" {
		t.Fatalf("AddClanMember() = %+v, %v", m, err)
	}
	if _, err := operator.AddClanMember.Call(t.Context(), l, in); !errors.Is(err, operator.ErrBadRequest) {
		t.Errorf("again: %v, want ErrBadRequest", err)
	}
	if list, err := operator.ListClans.Call(t.Context(), l, operator.None{}); err != nil || len(list) != 1 {
		t.Errorf("ListClans() = %+v, %v", list, err)
	}
	if m, err := operator.RemoveClanMember.Call(t.Context(), l, operator.ClanRef{Profile: p.ID}); err != nil || m.Tag != "ABC" {
		t.Errorf("RemoveClanMember() = %+v, %v", m, err)
	}
	if _, err := operator.RemoveClanMember.Call(t.Context(), l, operator.ClanRef{Profile: p.ID}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("again: %v, want ErrNotFound", err)
	}
}
