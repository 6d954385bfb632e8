package storagetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

func user(email string) storage.User {
	return storage.User{
		Email: email, Secret: []byte{0, 1, 0xff}, Password: []byte{2},
		Reset: storage.ResetLink{Digest: bytes.Repeat([]byte{7}, storage.ResetDigest), Expires: moment().Add(24 * time.Hour)}, Passwords: 3,
		Homes:   []uint64{1, 1<<64 - 1},
		Ban:     storage.AccountBan{Added: moment(), Expires: moment().Add(time.Hour), Reason: "spam", By: "admin"},
		Created: moment(),
	}
}

func createUser(t tester, s storage.Store, u storage.User, p storage.Profile) (storage.User, storage.Profile) {
	t.Helper()
	user, first, err := s.CreateUser(background(), u, p)
	if err != nil {
		t.Fatalf("CreateUser(%+v, %+v) = %v", u, p, err)
	}
	return user, first
}

// people creates n users with one profile each and returns the profiles in the
// order of their ids.
func people(t tester, s storage.Store, n int) []storage.Profile {
	t.Helper()
	all := make([]storage.Profile, n)
	together(t, n, func(i int) (err error) {
		_, all[i], err = s.CreateUser(background(), user(fmt.Sprintf("p%d@example.com", i)), storage.Profile{Nick: fmt.Sprintf("P%d", i)})
		return err
	})
	slices.SortFunc(all, func(a, b storage.Profile) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func userTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"create, read, update, delete":                 testUserLife,
		"e-mails are unique in each partner code":      testUserEmail,
		"an e-mail can change, and is free then":       testUserEmailChange,
		"revisions are checked":                        testUserRev,
		"ids are never used again":                     testUserIDs,
		"an import keeps its ids":                      testUserImport,
		"a refused user leaves nothing behind":         testUserRefused,
		"an import has all profiles or none":           testUserImportWhole,
		"users are listed from any id on":              testUserList,
		"records beyond the limits are refused":        testUserLimits,
		"a deleted user takes everything along":        testUserDelete,
		"one of many creators wins an e-mail":          testUserRace,
		"creators at once get different ids":           testUserIDRace,
		"one of many writers wins a revision":          testUserRevRace,
		"creating and deleting at once stays coherent": testUserChurn,
	}
}

func testUserLife(t *testing.T, s storage.Store) {
	want := user("Alice@Example.com")
	got, p := createUser(t, s, want, profile("Alice"))
	if got.ID == 0 || got.Rev == 0 || p.ID == 0 || p.Rev == 0 || p.User != got.ID {
		t.Fatalf("CreateUser() = %+v, %+v, want ids and revisions", got, p)
	}
	want.ID, want.Rev = got.ID, got.Rev
	differ(t, "CreateUser", got, want)
	got.Secret[0] = 9 // the caller owns the result
	read := must(s.GetUser(t.Context(), want.ID))(t)
	differ(t, "GetUser", read, want)
	if zone := read.Created.Location(); zone != time.UTC {
		t.Errorf("Created is in %v, want UTC", zone)
	}
	read.Secret, read.Ban, read.Reset = []byte("new"), storage.AccountBan{}, storage.ResetLink{}
	updated, err := s.UpdateUser(t.Context(), read)
	if err != nil || updated.Rev <= read.Rev || string(updated.Secret) != "new" || updated.Reset.Digest != nil || !updated.Reset.Expires.IsZero() {
		t.Errorf("UpdateUser(%+v) = %+v, %v", read, updated, err)
	}
	if byEmail, err := s.UserByEmail(t.Context(), 0, "aLICE@example.COM"); err != nil || byEmail.Rev != updated.Rev {
		t.Errorf("UserByEmail() = %+v, %v, want %+v", byEmail, err, updated)
	}
	wantErr(t, s.DeleteUser(t.Context(), want.ID), nil, "DeleteUser()")
	if _, err := s.GetUser(t.Context(), want.ID); !errors.Is(err, storage.ErrDeleted) || !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("GetUser() after DeleteUser = %v, want ErrDeleted", err)
	}
	wantErr(t, errOf(s.UserByEmail(t.Context(), 0, "alice@example.com")), storage.ErrNotFound, "UserByEmail() after DeleteUser")
	wantErr(t, s.DeleteUser(t.Context(), want.ID), storage.ErrDeleted, "second DeleteUser()")
	if _, err := s.GetUser(t.Context(), want.ID+1); !errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDeleted) {
		t.Errorf("GetUser() of an id that never was = %v, want plain ErrNotFound", err)
	}
}

func testUserEmail(t *testing.T, s storage.Store) {
	createUser(t, s, user("a@b.c"), profile("A"))
	_, _, err := s.CreateUser(t.Context(), user("A@B.C"), profile("B"))
	wantTaken(t, "CreateUser() with the same e-mail", err, storage.IndexUserEmail)
	other := user("a@b.c")
	other.Partner = 10
	second, _ := createUser(t, s, other, profile("B"))
	if got, err := s.UserByEmail(t.Context(), 10, "a@b.c"); err != nil || got.ID != second.ID {
		t.Errorf("UserByEmail(10) = %+v, %v, want user %d", got, err, second.ID)
	}
	for name, email := range map[string]string{"another": "x@b.c", "empty": "", "long": strings.Repeat("a", 100_000)} {
		wantErr(t, errOf(s.UserByEmail(t.Context(), 0, email)), storage.ErrNotFound, "UserByEmail(%s)", name)
	}
}

func testUserEmailChange(t *testing.T, s storage.Store) {
	u, _ := createUser(t, s, user("a@b.c"), profile("A"))
	createUser(t, s, user("taken@b.c"), profile("B"))
	u.Email = "TAKEN@b.c"
	_, err := s.UpdateUser(t.Context(), u)
	wantTaken(t, "UpdateUser() to the e-mail of another", err, storage.IndexUserEmail)
	for _, email := range []string{"A@B.C", "new@b.c"} {
		u.Email = email
		if u, err = s.UpdateUser(t.Context(), u); err != nil {
			t.Fatalf("UpdateUser() to %s = %v", email, err)
		}
		if got, err := s.UserByEmail(t.Context(), 0, email); err != nil || got.Email != email {
			t.Errorf("UserByEmail(%s) = %+v, %v", email, got, err)
		}
	}
	createUser(t, s, user("a@b.c"), profile("C")) // free again
}

func testUserRev(t *testing.T, s storage.Store) {
	u, _ := createUser(t, s, user("a@b.c"), profile("A"))
	noErr(t, errOf(s.UpdateUser(t.Context(), u)))
	wantErr(t, errOf(s.UpdateUser(t.Context(), u)), storage.ErrConflict, "UpdateUser() with an old Rev")
	u.ID += 100
	wantErr(t, errOf(s.UpdateUser(t.Context(), u)), storage.ErrNotFound, "UpdateUser() of an unknown user")
}

func testUserIDs(t *testing.T, s storage.Store) {
	u, p := createUser(t, s, user("a@b.c"), profile("A"))
	extra := must(s.CreateProfile(t.Context(), storage.Profile{User: u.ID, Nick: "B"}))(t)
	noErr(t, errors.Join(s.DeleteProfile(t.Context(), extra.ID), s.DeleteUser(t.Context(), u.ID)))
	u2, p2 := createUser(t, s, user("a@b.c"), profile("A"))
	if u2.ID <= u.ID || p2.ID <= p.ID || p2.ID <= extra.ID {
		t.Errorf("ids %d, %d came after %d, %d, %d, want new ones", u2.ID, p2.ID, u.ID, p.ID, extra.ID)
	}
	wantErr(t, errOf(s.GetProfile(t.Context(), p.ID)), storage.ErrDeleted, "GetProfile() of a deleted one")
}

func testUserImport(t *testing.T, s storage.Store) {
	u, p := user("a@b.c"), profile("A")
	u.ID, p.ID = 500, 700
	u, p = createUser(t, s, u, p)
	if u.ID != 500 || p.ID != 700 || p.User != 500 {
		t.Errorf("CreateUser() with ids = %d, %d of %d", u.ID, p.ID, p.User)
	}
	again := user("b@b.c")
	again.ID = 500
	_, _, err := s.CreateUser(t.Context(), again, storage.Profile{Nick: "A"})
	wantTaken(t, "CreateUser() with an id that exists", err, storage.IndexUserID)
	_, _, err = s.CreateUser(t.Context(), user("b@b.c"), storage.Profile{Nick: "A", ID: 700})
	wantTaken(t, "CreateUser() with a profile id that exists", err, storage.IndexProfileID)
	u, p = createUser(t, s, user("b@b.c"), storage.Profile{Nick: "A"})
	if u.ID <= 500 || p.ID <= 700 { // refused steps may have used up the next ones
		t.Errorf("ids after an import = %d, %d, want above 500 and 700", u.ID, p.ID)
	}
}

func testUserImportWhole(t *testing.T, s storage.Store) {
	createUser(t, s, user("a@b.c"), profile("Taken"))
	last := func(p storage.Profile) []storage.Profile {
		return []storage.Profile{{ID: 900, Nick: "One"}, profile("Two"), p}
	}
	many := make([]storage.Profile, storage.MaxProfiles+1)
	for i := range many {
		many[i] = storage.Profile{Nick: fmt.Sprint("N", i)}
	}
	for name, tt := range map[string]struct {
		profiles []storage.Profile
		want     error
	}{
		"none":                       {nil, storage.ErrInvalid},
		"too many":                   {many, storage.ErrInvalid},
		"the last is beyond limits":  {last(storage.Profile{}), storage.ErrInvalid},
		"the last is taken":          {last(profile("Taken")), storage.ErrTaken},
		"the last has a nick again":  {last(storage.Profile{Nick: "one"}), storage.ErrTaken},
		"the last has an id again":   {last(storage.Profile{ID: 900, Nick: "Three"}), storage.ErrTaken},
		"the last has a unique nick": {last(storage.Profile{Nick: "3", UniqueNicks: profile("Two").UniqueNicks}), storage.ErrTaken},
	} {
		list := []storage.NewUser{{User: user("new@b.c"), Profiles: tt.profiles}}
		if err := s.ImportUsers(t.Context(), list); err != nil || !errors.Is(list[0].Err, tt.want) {
			t.Errorf("%s: ImportUsers() = %v, %v, want %v", name, err, list[0].Err, tt.want)
		}
		wantErr(t, errOf(s.UserByEmail(t.Context(), 0, "new@b.c")), storage.ErrNotFound, "%s: UserByEmail()", name)
		if found := collect(t, s.FindProfiles(t.Context(), storage.ByNick, "One")); len(found) > 0 {
			t.Errorf("%s: a refused import left %+v", name, found)
		}
		if n := must(s.CountUsers(t.Context()))(t); n != 1 {
			t.Errorf("%s: CountUsers() = %d, want 1", name, n)
		}
	}
	// The second has the address of the first, and the third a profile that is found to be taken when others were stored.
	list := []storage.NewUser{
		{User: user("new@b.c"), Profiles: many[:storage.MaxProfiles]},
		{User: user("new@b.c"), Profiles: many[:1]},
		{User: user("third@b.c"), Profiles: last(profile("Taken"))},
		{User: user("fourth@b.c"), Profiles: many[:1]},
	}
	if err := s.ImportUsers(t.Context(), list); err != nil || list[0].Err != nil || list[3].Err != nil {
		t.Fatalf("ImportUsers() = %v, %v and %v", err, list[0].Err, list[3].Err)
	}
	for i, email := range map[int]string{1: "new@b.c", 2: "third@b.c"} {
		if !errors.Is(list[i].Err, storage.ErrTaken) {
			t.Errorf("ImportUsers() refuses user %d with %v, want ErrTaken", i, list[i].Err)
		}
		if found, err := s.UserByEmail(t.Context(), 0, email); i == 2 && !errors.Is(err, storage.ErrNotFound) || i == 1 && found.ID != list[0].User.ID {
			t.Errorf("%s is %+v, %v", email, found, err)
		}
	}
	if n := must(s.CountUsers(t.Context()))(t); n != 3 {
		t.Errorf("CountUsers() = %d, want 3", n)
	}
	u, all := list[0].User, list[0].Profiles
	for i, p := range all {
		if p.Nick != many[i].Nick || p.User != u.ID || p.ID == 0 || p.Rev == 0 {
			t.Errorf("ImportUsers() gave profile %d as %+v", i, p)
		}
	}
	if stored := must(s.ProfilesOf(t.Context(), u.ID))(t); len(stored) != storage.MaxProfiles {
		t.Errorf("%d profiles are stored, want %d", len(stored), storage.MaxProfiles)
	}
	// The next new ids may be the given one: then the user is refused, and none of the profiles takes the place of another.
	_, p := createUser(t, s, user("fifth@b.c"), storage.Profile{Nick: "A"})
	list = []storage.NewUser{{User: user("sixth@b.c"), Profiles: []storage.Profile{{Nick: "A"}, {Nick: "B"}, {Nick: "C", ID: p.ID + 2}}}}
	if err := s.ImportUsers(t.Context(), list); err != nil || list[0].Err != nil && !errors.Is(list[0].Err, storage.ErrTaken) {
		t.Fatalf("ImportUsers() with new ids and a given one = %v, %v", err, list[0].Err)
	}
	ids := make(map[storage.ProfileID]bool)
	for _, p := range list[0].Profiles {
		ids[p.ID] = true
	}
	if list[0].Err == nil && len(ids) != 3 {
		t.Errorf("profiles with new ids and a given one are stored as %v", ids)
	}
}

func testUserRefused(t *testing.T, s storage.Store) {
	createUser(t, s, user("a@b.c"), profile("A"))
	_, _, err := s.CreateUser(t.Context(), user("new@b.c"), profile("A")) // its unique nick is taken
	wantTaken(t, "CreateUser()", err, storage.IndexUniqueNick)
	wantErr(t, errOf(s.UserByEmail(t.Context(), 0, "new@b.c")), storage.ErrNotFound, "UserByEmail() after a refusal")
	if n := len(collect(t, s.Users(t.Context(), 0))); n != 1 {
		t.Errorf("%d users after a refusal, want 1", n)
	}
	if n := len(collect(t, s.FindProfiles(t.Context(), storage.ByNick, "A"))); n != 1 {
		t.Errorf("%d profiles found after a refusal, want 1", n)
	}
}

func testUserList(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	const n = 600 // more than a page of any engine
	ids := make([]storage.UserID, n)
	for i, p := range people(t, s, n) {
		ids[i] = p.User
	}
	slices.Sort(ids)
	for _, after := range []storage.UserID{0, ids[0], ids[298], ids[n-2], ids[n-1], storage.MaxAccountID, 1<<32 - 1} {
		var got []storage.UserID
		for _, u := range collect(t, s.Users(t.Context(), after)) {
			got = append(got, u.ID)
		}
		var want []storage.UserID
		for _, id := range ids {
			if id > after {
				want = append(want, id)
			}
		}
		differ(t, fmt.Sprintf("users after %d", after), got, want)
	}
	for u, err := range s.Users(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		noErr(t, s.DeleteUser(t.Context(), u.ID))
	}
	if left := collect(t, s.Users(t.Context(), 0)); len(left) != 0 {
		t.Errorf("%d users left", len(left))
	}
}

func testUserLimits(t *testing.T, s storage.Store) {
	edge := user(strings.Repeat("e", storage.MaxEmail))
	edge.Partner = storage.MaxAccountID
	edge.Secret, edge.Password = make([]byte, storage.MaxSealed), make([]byte, storage.MaxSealed)
	edge.Ban.Reason = strings.Repeat("r", storage.MaxBanReason)
	edge, _ = createUser(t, s, edge, profile("A"))
	tests := map[string]func(*storage.User){
		"no e-mail":        func(u *storage.User) { u.Email = "" },
		"long e-mail":      func(u *storage.User) { u.Email += "e" },
		"space":            func(u *storage.User) { u.Email = "a b@c.d" },
		"backslash":        func(u *storage.User) { u.Email = `a\b@c.d` },
		"not ASCII":        func(u *storage.User) { u.Email = "ä@c.d" },
		"negative partner": func(u *storage.User) { u.Partner = -1 },
		"huge partner":     func(u *storage.User) { u.Partner = storage.MaxAccountID + 1 },
		"huge id":          func(u *storage.User) { u.ID = storage.MaxAccountID + 1 },
		"long secret":      func(u *storage.User) { u.Secret = append(u.Secret, 0) },
		"long password":    func(u *storage.User) { u.Password = append(u.Password, 0) },
		"long reason":      func(u *storage.User) { u.Ban.Reason += "r" },
		"short digest":     func(u *storage.User) { u.Reset.Digest = u.Reset.Digest[1:] },
		"long digest":      func(u *storage.User) { u.Reset.Digest = append(u.Reset.Digest, 0) },
		"no digest":        func(u *storage.User) { u.Reset.Digest = nil },
	}
	for name, spoil := range tests {
		u := edge
		spoil(&u)
		wantErr(t, errOf2(s.CreateUser(t.Context(), u, profile("B"))), storage.ErrInvalid, "%s: CreateUser()", name)
		wantErr(t, errOf(s.UpdateUser(t.Context(), u)), storage.ErrInvalid, "%s: UpdateUser()", name)
	}
}

func testUserDelete(t *testing.T, s storage.Store) {
	all := people(t, s, 3)
	gone, friend := all[0].ID, all[1].ID
	rich := profile("Rich")
	rich.User = all[0].User
	second := must(s.CreateProfile(t.Context(), rich))(t)
	for _, id := range []storage.ProfileID{gone, second.ID} {
		tangle(t, s, id, friend)
	}
	addBuddy(t, s, friend, all[2].ID)
	freed := must(s.GetUser(t.Context(), all[0].User))(t)
	noErr(t, s.DeleteUser(t.Context(), all[0].User))
	for _, id := range []storage.ProfileID{gone, second.ID} {
		wantGone(t, s, id)
	}
	differ(t, "buddies of the friend", must(s.Lists(t.Context(), friend))(t).Buddies, []storage.ProfileID{all[2].ID})
	wantErr(t, errOf2(s.ProfileByUniqueNick(t.Context(), 1, "rich")), storage.ErrNotFound, "ProfileByUniqueNick() of a deleted user")
	if got, err := s.ProfilesOf(t.Context(), all[0].User); err != nil || len(got) != 0 {
		t.Errorf("ProfilesOf() of a deleted user = %v, %v, want none", got, err)
	}
	createUser(t, s, user(freed.Email), profile("Rich")) // all of it is free again
}

// tangle gives a profile every kind of related data.
func tangle(t *testing.T, s storage.Store, id, other storage.ProfileID) {
	t.Helper()
	addBuddy(t, s, id, other)
	addBuddy(t, s, other, id)
	for _, pair := range [][2]storage.ProfileID{{id, other}, {other, id}} {
		noErr(t, s.AddBlock(t.Context(), pair[0], pair[1]))
	}
	third := people2(t, s, id)
	for _, pair := range [][2]storage.ProfileID{{id, third}, {third, id}} {
		ask(t, s, pair[0], pair[1], moment())
	}
	leave(t, s, id, storage.Message{From: other, Kind: storage.MessageText, Text: "hi", Sent: moment()})
}

// people2 creates one more user, named after a profile.
func people2(t *testing.T, s storage.Store, id storage.ProfileID) storage.ProfileID {
	t.Helper()
	_, p := createUser(t, s, user(fmt.Sprintf("third%d@example.com", id)), storage.Profile{Nick: "Third"})
	return p.ID
}

// wantGone checks that a deleted profile has no related data.
func wantGone(t *testing.T, s storage.Store, id storage.ProfileID) {
	t.Helper()
	wantErr(t, errOf(s.GetProfile(t.Context(), id)), storage.ErrDeleted, "GetProfile(%d)", id)
	for name, seq := range map[string]func() int{
		"buddies":  func() int { return len(must(s.Lists(t.Context(), id))(t).Buddies) },
		"Watchers": func() int { return len(collect(t, s.Watchers(t.Context(), id))) },
		"blocks":   func() int { return len(must(s.Lists(t.Context(), id))(t).Blocks) },
		"Requests": func() int { return len(collect(t, s.Requests(t.Context(), id))) },
	} {
		if n := seq(); n != 0 {
			t.Errorf("%s of %d has %d after the deletion", name, id, n)
		}
	}
	if got, err := s.Messages(t.Context(), id, moment()); len(got) != 0 || err != nil {
		t.Errorf("Messages(%d) = %v, %v after the deletion", id, got, err)
	}
	for _, p := range collect(t, s.Users(t.Context(), 0)) {
		for _, q := range must(s.ProfilesOf(t.Context(), p.ID))(t) {
			r := must(s.Relation(t.Context(), q.ID, id))(t)
			if r != (storage.Relation{}) {
				t.Errorf("Relation(%d, %d) = %+v after the deletion", q.ID, id, r)
			}
			wantErr(t, errOf(s.Request(t.Context(), id, q.ID)), storage.ErrNotFound, "Request(%d, %d) after the deletion", id, q.ID)
		}
	}
}

// must returns a function that fails the test on err and returns v otherwise.
func must[V any](v V, err error) func(tester) V {
	return func(t tester) V {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
		return v
	}
}

func testUserRace(t *testing.T, s storage.Store) {
	errs := race(func(i int) error {
		_, _, err := s.CreateUser(t.Context(), user("a@b.c"), storage.Profile{Nick: fmt.Sprint("N", i)})
		return err
	})
	oneWon(t, errs, storage.ErrTaken)
	u := must(s.UserByEmail(t.Context(), 0, "a@b.c"))(t)
	if got, err := s.ProfilesOf(t.Context(), u.ID); err != nil || len(got) != 1 {
		t.Errorf("the winner has profiles %v, %v, want 1", got, err)
	}
}

func testUserIDRace(t *testing.T, s storage.Store) {
	ids := make([]storage.ProfileID, racers)
	errs := race(func(i int) error {
		_, p, err := s.CreateUser(t.Context(), user(fmt.Sprintf("%d@b.c", i)), profile(fmt.Sprint("Name", i)))
		ids[i] = p.ID
		return err
	})
	noErr(t, errors.Join(errs...))
	seen := map[storage.ProfileID]bool{}
	for i, id := range ids {
		got, err := s.GetProfile(t.Context(), id)
		if seen[id] || err != nil || got.Nick != fmt.Sprint("Name", i) {
			t.Errorf("racer %d got id %d, where %+v is (%v)", i, id, got, err)
		}
		seen[id] = true
	}
}

func testUserRevRace(t *testing.T, s storage.Store) {
	u, _ := createUser(t, s, user("a@b.c"), profile("A"))
	errs := race(func(i int) error {
		mine := u
		mine.Secret = []byte{byte(i)}
		_, err := s.UpdateUser(t.Context(), mine)
		return err
	})
	oneWon(t, errs, storage.ErrConflict)
}

func testUserChurn(t *testing.T, s storage.Store) {
	friend := people(t, s, 1)[0]
	errs := race(func(i int) error {
		for range 10 {
			u, p, err := s.CreateUser(t.Context(), user(fmt.Sprintf("churn%d@b.c", i%4)), profile(fmt.Sprint("Churn", i%4)))
			if errors.Is(err, storage.ErrTaken) {
				continue
			}
			if err != nil {
				return err
			}
			if err := errors.Join(s.AddBuddy(t.Context(), friend.ID, p.ID), s.DeleteUser(t.Context(), u.ID)); err != nil {
				return err
			}
		}
		return nil
	})
	noErr(t, errors.Join(errs...))
	if got := must(s.Lists(t.Context(), friend.ID))(t).Buddies; len(got) != 0 {
		t.Errorf("buddies left: %v", got)
	}
	if got := collect(t, s.Users(t.Context(), 0)); len(got) != 1 {
		t.Errorf("%d users left, want 1", len(got))
	}
}
