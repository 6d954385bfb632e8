package clans

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// newStore returns a store with the profiles 1 to n.
func newStore(t *testing.T, n int) *records.Store {
	t.Helper()
	s := storetest.New(t)
	for i := range n {
		if _, _, err := s.CreateUser(t.Context(), storage.User{Email: fmt.Sprintf("p%d@example.com", i)}, storage.Profile{Nick: "Tanya"}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func join(t *testing.T, s Store, m Member) Member {
	t.Helper()
	m.Rank = max(m.Rank, RankMember)
	m, err := Join(t.Context(), s, m)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestClans(t *testing.T) {
	s := newStore(t, 4)
	if _, err := Of(t.Context(), s, 1); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("before there are clans: %v", err)
	}
	if list, err := List(t.Context(), s); len(list) > 0 || err != nil {
		t.Errorf("before there are clans: %v, %v", list, err)
	}
	ann := join(t, s, Member{Profile: 1, Tag: "ABC", Name: "Alliance & <Co>", Rank: 5})
	ben := join(t, s, Member{Profile: 2, Tag: "abc", Name: "Other"})
	cid := join(t, s, Member{Profile: 3, Tag: "XY"})
	want := []Member{
		{Profile: 1, ID: 1, Clan: 1, Tag: "ABC", Name: "Alliance & <Co>", Rank: 5},
		{Profile: 2, ID: 2, Clan: 1, Tag: "ABC", Name: "Alliance & <Co>", Rank: 1},
		{Profile: 3, ID: 3, Clan: 3, Tag: "XY", Name: "XY", Rank: 1},
	}
	if diff := cmp.Diff(want, []Member{ann, ben, cid}); diff != "" {
		t.Errorf("joined, -want +got:\n%s", diff)
	}
	if list, err := List(t.Context(), s); err != nil || !cmp.Equal(list, want) {
		t.Errorf("List() = %+v, %v", list, err)
	}
	if _, err := Join(t.Context(), s, Member{Profile: 1, Tag: "XY", Rank: 1}); !errors.Is(err, storage.ErrTaken) {
		t.Errorf("a second clan of one profile: %v", err)
	}
	if _, err := Join(t.Context(), s, Member{Profile: 99, Tag: "XY", Rank: 1}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("an unknown profile: %v", err)
	}
	// The clan stays when its first member leaves, and its number is that of no other one.
	if m, err := Leave(t.Context(), s, 1); err != nil || m != want[0] {
		t.Errorf("Leave() = %+v, %v", m, err)
	}
	if _, err := Leave(t.Context(), s, 1); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("Leave() again: %v", err)
	}
	if m := join(t, s, Member{Profile: 4, Tag: "Abc"}); m.Clan != 1 || m.Name != want[0].Name {
		t.Errorf("after the first member has left: %+v", m)
	}
	if m := join(t, s, Member{Profile: 1, Tag: "new"}); m.Clan != m.ID {
		t.Errorf("a new clan: %+v", m)
	}
	if m, err := Of(t.Context(), s, 2); err != nil || m != want[1] {
		t.Errorf("Of() = %+v, %v", m, err)
	}
	if err := s.DeleteUser(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if _, err := Of(t.Context(), s, 2); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("a deleted profile: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		m  Member
		ok bool
	}{
		"longest":           {Member{Tag: strings.Repeat("x", MaxTag), Name: strings.Repeat("ü", MaxName/2), Rank: MaxRank}, true},
		"no tag":            {Member{Rank: 1}, false},
		"long tag":          {Member{Tag: strings.Repeat("x", MaxTag+1), Rank: 1}, false},
		"space in the tag":  {Member{Tag: "a b", Rank: 1}, false},
		"umlaut in the tag": {Member{Tag: "ä", Rank: 1}, false},
		"long name":         {Member{Tag: "x", Name: strings.Repeat("x", MaxName+1), Rank: 1}, false},
		"line in the name":  {Member{Tag: "x", Name: "a\nb", Rank: 1}, false},
		"bytes in the name": {Member{Tag: "x", Name: "\xff", Rank: 1}, false},
		"no rank":           {Member{Tag: "x"}, false},
		"high rank":         {Member{Tag: "x", Rank: MaxRank + 1}, false},
	} {
		if err := tt.m.check(); (err == nil) != tt.ok || err != nil && !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMaxMembers(t *testing.T) {
	s := newStore(t, 3)
	m := Member{Tag: "ABC", Rank: 1}
	for range MaxMembers - 1 {
		if _, err := s.CreateSakeRecord(t.Context(), Table, 1, m.fields(), storage.SakeLimits{}); err != nil {
			t.Fatal(err)
		}
	}
	m.Profile = 2
	if m, err := Join(t.Context(), s, m); err != nil || m.Clan != 1 {
		t.Errorf("the last one: %+v, %v", m, err)
	}
	m.Profile = 3
	if m, err := Join(t.Context(), s, m); !errors.Is(err, storage.ErrFull) {
		t.Errorf("one more: %+v, %v", m, err)
	}
}
