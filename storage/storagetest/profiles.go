package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// background is the context of calls that do not test contexts and have no
// *testing.T.
func background() context.Context { return context.Background() }

// profile returns a profile with something in every field. It is not UTF-8.
func profile(nick string) storage.Profile {
	return storage.Profile{
		Nick: nick,
		UniqueNicks: []storage.UniqueNick{
			{Namespace: 1, Nick: nick, Key: storage.Fold(nick)},
			{Namespace: 15, Nick: nick + "\xe9", Key: storage.Fold(nick) + "\xe9"},
		},
		CDKeys:    []storage.CDKey{{Game: "gmtest", Digest: "key-of-" + nick, Hash: "hash-of-" + nick, Sealed: []byte{0, 1}, Added: moment()}},
		FirstName: "J\xf6rg", LastName: "M\u00fcller", Homepage: "http://x.y/?a=<b>", Zip: "90210", Country: "US",
		Place: "US|CA|L.A.", AIM: "aim", ICQ: -12345, Birthday: storage.Birthday(29, 2, 1980), Sex: storage.SexFemale,
		PublicMask: math.MaxUint32, Picture: 1, Occupation: 2, Industry: 3, Income: 4, Married: 5, Children: 6,
		Interests: math.MaxInt32, Ownership: math.MinInt32, Connection: 9, Created: moment(),
	}
}

func profileTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"create, read, update, delete":           testProfileLife,
		"nicks are unique in each user":          testProfileNick,
		"unique nicks are unique in a namespace": testProfileUniqueNick,
		"CD keys are unique in a game":           testProfileCDKey,
		"revisions are checked":                  testProfileRev,
		"profiles are found by names and number": testProfileFind,
		"what an update removes is free again":   testProfileFree,
		"the last profile stays":                 testProfileLast,
		"a user has so many profiles":            testProfileMany,
		"a deleted profile takes its things":     testProfileDelete,
		"records beyond the limits are refused":  testProfileLimits,
		"one of many wins a unique nick":         testProfileRace,
		"one of many deleters leaves the last":   testProfileLastRace,
		"a refused update changes nothing":       testProfileRefused,
	}
}

func createProfile(t *testing.T, s storage.Store, p storage.Profile) storage.Profile {
	t.Helper()
	stored, err := s.CreateProfile(t.Context(), p)
	if err != nil {
		t.Fatalf("CreateProfile(%+v) = %v", p, err)
	}
	return stored
}

func testProfileLife(t *testing.T, s storage.Store) {
	u, _ := createUser(t, s, user("a@b.c"), storage.Profile{Nick: "First"})
	want := profile("Al\xffice")
	want.UniqueNicks, want.CDKeys, want.User = profile("Alice").UniqueNicks, profile("Alice").CDKeys, u.ID
	got := createProfile(t, s, want)
	want.ID, want.Rev = got.ID, got.Rev
	differ(t, "CreateProfile", got, want)
	got.UniqueNicks[0].Nick, got.CDKeys[0].Digest = "mine", "mine" // the caller owns the result
	read := must(s.GetProfile(t.Context(), want.ID))(t)
	differ(t, "GetProfile", read, want)
	if read.Created.Location() != time.UTC || read.CDKeys[0].Added.Location() != time.UTC {
		t.Errorf("times are not in UTC: %+v", read)
	}
	read.Nick, read.FirstName = "Alicia", "J\u00f6rg"
	updated := must(s.UpdateProfile(t.Context(), read))(t)
	if updated.Rev <= read.Rev {
		t.Errorf("UpdateProfile() gave revision %d after %d", updated.Rev, read.Rev)
	}
	list := must(s.ProfilesOf(t.Context(), u.ID))(t)
	if len(list) != 2 || list[0].Nick != "Alicia" || list[1].Nick != "First" {
		t.Errorf("ProfilesOf() = %+v, want Alicia and First", list)
	}
	noErr(t, s.DeleteProfile(t.Context(), want.ID))
	wantGone(t, s, want.ID)
	wantErr(t, s.DeleteProfile(t.Context(), want.ID), storage.ErrDeleted, "second DeleteProfile()")
	if _, err := s.CreateProfile(t.Context(), storage.Profile{User: u.ID + 9, Nick: "A"}); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("CreateProfile() of an unknown user = %v, want ErrNotFound", err)
	}
}

func testProfileNick(t *testing.T, s storage.Store) {
	u, first := createUser(t, s, user("a@b.c"), storage.Profile{Nick: "Nick"})
	_, err := s.CreateProfile(t.Context(), storage.Profile{User: u.ID, Nick: "nICK"})
	wantTaken(t, "CreateProfile() with the same nick", err, storage.IndexNick)
	other := createProfile(t, s, storage.Profile{User: u.ID, Nick: "Nick2"})
	other.Nick = "NICK"
	_, err = s.UpdateProfile(t.Context(), other)
	wantTaken(t, "UpdateProfile() with the same nick", err, storage.IndexNick)
	createUser(t, s, user("b@b.c"), storage.Profile{Nick: "Nick"}) // another user may
	if got, err := s.ProfileByNick(t.Context(), u.ID, "NICK"); err != nil || got.ID != first.ID {
		t.Errorf("ProfileByNick() = %+v, %v, want profile %d", got, err, first.ID)
	}
	for name, nick := range map[string]string{"part": "Nic", "empty": "", "long": strings.Repeat("n", 100_000)} {
		wantErr(t, errOf(s.ProfileByNick(t.Context(), u.ID, nick)), storage.ErrNotFound, "ProfileByNick(%s)", name)
	}
}

func testProfileUniqueNick(t *testing.T, s storage.Store) {
	_, a := createUser(t, s, user("a@b.c"), storage.Profile{Nick: "A", UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: "%Joe%", Key: "joe"}}})
	_, b := createUser(t, s, user("b@b.c"), storage.Profile{Nick: "A", UniqueNicks: []storage.UniqueNick{{Namespace: 2, Nick: "Joe", Key: "joe"}}})
	b.UniqueNicks = append(b.UniqueNicks, storage.UniqueNick{Namespace: 1, Nick: "JOE", Key: "joe"})
	_, err := s.UpdateProfile(t.Context(), b)
	wantTaken(t, "UpdateProfile() with a taken unique nick", err, storage.IndexUniqueNick)
	for namespace, want := range map[int]storage.ProfileID{1: a.ID, 2: b.ID} {
		if got, u, err := s.ProfileByUniqueNick(t.Context(), namespace, "joe"); err != nil || got.ID != want || u.ID != got.User {
			t.Errorf("ProfileByUniqueNick(%d) = %+v, %+v, %v, want profile %d and its user", namespace, got, u, err, want)
		}
	}
	for key, want := range map[string][]int{"joe": {1, 2}, "jo": nil, "joee": nil, "": nil} {
		if got, err := s.NamespacesOfUniqueNick(t.Context(), key); err != nil || !slices.Equal(got, want) {
			t.Errorf("NamespacesOfUniqueNick(%q) = %v, %v, want %v", key, got, err, want)
		}
	}
	a.UniqueNicks[0].Nick = "Joe" // its own key is not taken
	wantErr(t, errOf(s.UpdateProfile(t.Context(), a)), nil, "UpdateProfile() with its own key")
	if got := a.UniqueNickIn(1) + a.UniqueNickIn(7); got != "Joe" {
		t.Errorf("UniqueNickIn() = %q, want Joe and nothing", got)
	}
}

func testProfileCDKey(t *testing.T, s storage.Store) {
	key := func(game string) []storage.CDKey {
		return []storage.CDKey{{Game: game, Digest: "d", Hash: "h", Added: moment()}}
	}
	_, a := createUser(t, s, user("a@b.c"), storage.Profile{Nick: "A", CDKeys: key("gmtest")})
	_, _, err := s.CreateUser(t.Context(), user("b@b.c"), storage.Profile{Nick: "A", CDKeys: key("gmtest")})
	wantTaken(t, "CreateUser() with a taken CD key", err, storage.IndexCDKey)
	_, b := createUser(t, s, user("b@b.c"), storage.Profile{Nick: "A", CDKeys: key("other")})
	for game, want := range map[string]storage.ProfileID{"gmtest": a.ID, "other": b.ID} {
		for _, digest := range []string{"d", "h"} {
			if got, err := s.ProfileByCDKey(t.Context(), game, digest); err != nil || got.ID != want {
				t.Errorf("ProfileByCDKey(%s, %s) = %+v, %v, want profile %d", game, digest, got, err, want)
			}
		}
	}
	for _, digest := range []string{"td", ""} {
		wantErr(t, errOf(s.ProfileByCDKey(t.Context(), "gmtes", digest)), storage.ErrNotFound, "ProfileByCDKey() of an unknown key %q", digest)
	}
	a.CDKeys[0].Hash = ""
	noErr(t, errOf(s.UpdateProfile(t.Context(), a)))
	wantErr(t, errOf(s.ProfileByCDKey(t.Context(), "gmtest", "h")), storage.ErrNotFound, "ProfileByCDKey() of a hash that was removed")
	b.CDKeys = append(b.CDKeys, storage.CDKey{Game: "gmtest", Digest: "e", Hash: "d"})
	_, err = s.UpdateProfile(t.Context(), b)
	wantTaken(t, "UpdateProfile() with a hash that is a taken digest", err, storage.IndexCDKey)
}

func testProfileRev(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	noErr(t, errOf(s.UpdateProfile(t.Context(), p)))
	wantErr(t, errOf(s.UpdateProfile(t.Context(), p)), storage.ErrConflict, "UpdateProfile() with an old Rev")
	stolen := must(s.GetProfile(t.Context(), p.ID))(t)
	stolen.User++
	wantErr(t, errOf(s.UpdateProfile(t.Context(), stolen)), storage.ErrInvalid, "UpdateProfile() with another user")
	p.ID += 100
	wantErr(t, errOf(s.UpdateProfile(t.Context(), p)), storage.ErrNotFound, "UpdateProfile() of an unknown profile")
}

func testProfileFind(t *testing.T, s storage.Store) {
	racetest.Skip(t, "stores many records")
	together(t, 600, func(i int) error { // more than a page of any engine
		p := storage.Profile{Nick: fmt.Sprint("Joe", i%2), FirstName: "Jo", LastName: fmt.Sprint("L", i), ICQ: int32(i % 3)}
		_, _, err := s.CreateUser(t.Context(), user(fmt.Sprintf("%d@b.c", i)), p)
		return err
	})
	tests := map[string]struct {
		by    storage.ProfileIndex
		value string
		want  int
	}{
		"nick":                  {storage.ByNick, "JOE1", 300},
		"first name":            {storage.ByFirstName, "jo", 600},
		"last name":             {storage.ByLastName, "l599", 1},
		"number":                {storage.ByICQ, "2", 200},
		"number not stated":     {storage.ByICQ, "0", 0},
		"beginning only":        {storage.ByNick, "joe", 0},
		"empty":                 {storage.ByNick, "", 0},
		"unknown name":          {storage.ByLastName, "M", 0},
		"no such index":         {99, "jo", 0},
		"NUL":                   {storage.ByFirstName, "jo\x00", 0},
		"longer than any value": {storage.ByFirstName, strings.Repeat("j", 100_000), 0},
	}
	for name, tt := range tests {
		got := collect(t, s.FindProfiles(t.Context(), tt.by, tt.value))
		for i := 1; i < len(got); i++ {
			if got[i-1].ID >= got[i].ID {
				t.Fatalf("%s: profile %d before %d", name, got[i-1].ID, got[i].ID)
			}
		}
		if len(got) != tt.want {
			t.Errorf("%s: %d profiles, want %d", name, len(got), tt.want)
		}
	}
}

func testProfileFree(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	p.Nick, p.UniqueNicks, p.CDKeys, p.FirstName, p.LastName, p.ICQ = "B", nil, nil, "", "", 0
	must(s.UpdateProfile(t.Context(), p))(t)
	createUser(t, s, user("b@b.c"), profile("A"))
	if n := len(collect(t, s.FindProfiles(t.Context(), storage.ByNick, "a"))); n != 1 {
		t.Errorf("%d profiles with the old nick, want the new one's only", n)
	}
	createProfile(t, s, storage.Profile{User: p.User, Nick: "A"})
}

func testProfileLast(t *testing.T, s storage.Store) {
	u, p := createUser(t, s, user("a@b.c"), profile("A"))
	wantErr(t, s.DeleteProfile(t.Context(), p.ID), storage.ErrLast, "DeleteProfile() of the only one")
	createProfile(t, s, storage.Profile{User: u.ID, Nick: "B"})
	wantErr(t, s.DeleteProfile(t.Context(), p.ID), nil, "DeleteProfile() of one of two")
}

func testProfileMany(t *testing.T, s storage.Store) {
	u, _ := createUser(t, s, user("a@b.c"), storage.Profile{Nick: "0"})
	for i := 1; i < storage.MaxProfiles; i++ {
		createProfile(t, s, storage.Profile{User: u.ID, Nick: fmt.Sprint(i)})
	}
	if _, err := s.CreateProfile(t.Context(), storage.Profile{User: u.ID, Nick: "more"}); !errors.Is(err, storage.ErrFull) {
		t.Errorf("CreateProfile() beyond the limit = %v, want ErrFull", err)
	}
	if list := must(s.ProfilesOf(t.Context(), u.ID))(t); len(list) != storage.MaxProfiles {
		t.Errorf("ProfilesOf() has %d, want %d", len(list), storage.MaxProfiles)
	}
}

func testProfileDelete(t *testing.T, s storage.Store) {
	all := people(t, s, 2)
	rich := profile("Rich")
	rich.User = all[0].User
	p := createProfile(t, s, rich)
	tangle(t, s, p.ID, all[1].ID)
	addBuddy(t, s, all[1].ID, all[0].ID)
	noErr(t, s.DeleteProfile(t.Context(), p.ID))
	wantGone(t, s, p.ID)
	differ(t, "buddies of the friend", must(s.Lists(t.Context(), all[1].ID))(t).Buddies, []storage.ProfileID{all[0].ID})
	rich.Nick = "Rich2"
	createProfile(t, s, rich) // unique nicks and CD keys are free again
}

func testProfileLimits(t *testing.T, s storage.Store) {
	fill := func(n int) string { return strings.Repeat("\xe4", n) }
	edge := storage.Profile{
		Nick: fill(storage.MaxNick), FirstName: fill(storage.MaxPersonName), LastName: fill(storage.MaxPersonName),
		Homepage: fill(storage.MaxHomepage), Zip: fill(storage.MaxZip), Country: fill(storage.MaxCountry),
		Place: fill(storage.MaxPlace), AIM: fill(storage.MaxAIM), Birthday: storage.Birthday(6, 6, 2079),
	}
	for i := range storage.MaxUniqueNicks {
		word := fill(storage.MaxUniqueNick)
		edge.UniqueNicks = append(edge.UniqueNicks, storage.UniqueNick{Namespace: i + 1, Nick: word, Key: word})
	}
	for i := range storage.MaxCDKeys {
		edge.CDKeys = append(edge.CDKeys, storage.CDKey{
			Game: fmt.Sprint(i), Digest: strings.Repeat("d", storage.MaxCDKeyDigest), Hash: strings.Repeat("h", storage.MaxCDKeyDigest),
			Sealed: make([]byte, storage.MaxSealed),
		})
	}
	_, edge = createUser(t, s, user("a@b.c"), edge)
	differ(t, "the largest profile", must(s.GetProfile(t.Context(), edge.ID))(t), edge)
	tests := map[string]func(*storage.Profile){
		"no nick":         func(p *storage.Profile) { p.Nick = "" },
		"long nick":       func(p *storage.Profile) { p.Nick += "n" },
		"NUL":             func(p *storage.Profile) { p.Nick = "a\x00" },
		"backslash":       func(p *storage.Profile) { p.Homepage = `a\b` },
		"newline":         func(p *storage.Profile) { p.Place = "a\nb" },
		"long first name": func(p *storage.Profile) { p.FirstName += "n" },
		"long last name":  func(p *storage.Profile) { p.LastName += "n" },
		"long home page":  func(p *storage.Profile) { p.Homepage += "n" },
		"long zip":        func(p *storage.Profile) { p.Zip += "n" },
		"long country":    func(p *storage.Profile) { p.Country += "n" },
		"long place":      func(p *storage.Profile) { p.Place += "n" },
		"long AIM":        func(p *storage.Profile) { p.AIM += "n" },
		"sex":             func(p *storage.Profile) { p.Sex = 3 },
		"30 February":     func(p *storage.Profile) { p.Birthday = storage.Birthday(30, 2, 1980) },
		"month 13":        func(p *storage.Profile) { p.Birthday = storage.Birthday(1, 13, 1980) },
		"1899":            func(p *storage.Profile) { p.Birthday = storage.Birthday(31, 12, 1899) },
		"7 June 2079":     func(p *storage.Profile) { p.Birthday = storage.Birthday(7, 6, 2079) },
		"many unique nicks": func(p *storage.Profile) {
			p.UniqueNicks = append(p.UniqueNicks, storage.UniqueNick{Namespace: 99, Nick: "n", Key: "n"})
		},
		"namespace 0": func(p *storage.Profile) { p.UniqueNicks = []storage.UniqueNick{{Nick: "n", Key: "n"}} },
		"namespace twice": func(p *storage.Profile) {
			p.UniqueNicks = []storage.UniqueNick{{Namespace: 1, Nick: "n", Key: "n"}, {Namespace: 1, Nick: "m", Key: "m"}}
		},
		"no key": func(p *storage.Profile) { p.UniqueNicks = []storage.UniqueNick{{Namespace: 1, Nick: "n"}} },
		"long unique": func(p *storage.Profile) {
			p.UniqueNicks = []storage.UniqueNick{{Namespace: 1, Nick: strings.Repeat("n", 21), Key: "n"}}
		},
		"many CD keys": func(p *storage.Profile) { p.CDKeys = append(p.CDKeys, storage.CDKey{Game: "g", Digest: "d"}) },
		"CD key of no": func(p *storage.Profile) { p.CDKeys = []storage.CDKey{{Digest: "d"}} },
		"no digest":    func(p *storage.Profile) { p.CDKeys = []storage.CDKey{{Game: "g"}} },
		"long CD hash": func(p *storage.Profile) { p.CDKeys[0].Hash += "h" },
		"sealed CD key": func(p *storage.Profile) {
			p.CDKeys = []storage.CDKey{{Game: "g", Digest: "d", Sealed: make([]byte, storage.MaxSealed+1)}}
		},
		"two of one game": func(p *storage.Profile) {
			p.CDKeys = []storage.CDKey{{Game: "g", Digest: "d"}, {Game: "g", Digest: "e"}}
		},
	}
	for name, spoil := range tests {
		p := must(s.GetProfile(t.Context(), edge.ID))(t)
		spoil(&p)
		wantErr(t, errOf(s.UpdateProfile(t.Context(), p)), storage.ErrInvalid, "%s: UpdateProfile()", name)
		p.ID = 0
		wantErr(t, errOf(s.CreateProfile(t.Context(), p)), storage.ErrInvalid, "%s: CreateProfile()", name)
	}
}

func testProfileRace(t *testing.T, s storage.Store) {
	all := people(t, s, racers)
	errs := race(func(i int) error {
		mine := all[i]
		mine.UniqueNicks = []storage.UniqueNick{{Namespace: 1, Nick: "Joe", Key: "joe"}}
		_, err := s.UpdateProfile(t.Context(), mine)
		return err
	})
	oneWon(t, errs, storage.ErrTaken)
	winner, _, err := s.ProfileByUniqueNick(t.Context(), 1, "joe")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		got := must(s.GetProfile(t.Context(), p.ID))(t)
		if has := got.UniqueNickIn(1) != ""; has != (errs[i] == nil) || has != (p.ID == winner.ID) {
			t.Errorf("profile %d has the nick: %v, its error is %v, the index has %d", p.ID, has, errs[i], winner.ID)
		}
	}
}

func testProfileLastRace(t *testing.T, s storage.Store) {
	u, first := createUser(t, s, user("a@b.c"), storage.Profile{Nick: "0"})
	ids := []storage.ProfileID{first.ID}
	for i := 1; i < racers; i++ {
		ids = append(ids, createProfile(t, s, storage.Profile{User: u.ID, Nick: fmt.Sprint(i)}).ID)
	}
	errs := race(func(i int) error { return s.DeleteProfile(t.Context(), ids[i]) })
	left := must(s.ProfilesOf(t.Context(), u.ID))(t)
	refused := 0
	for _, err := range errs {
		if errors.Is(err, storage.ErrLast) {
			refused++
		} else if err != nil {
			t.Errorf("DeleteProfile() = %v", err)
		}
	}
	if len(left) != 1 || refused != 1 {
		t.Errorf("%d profiles are left and %d deletions were refused, want 1 and 1", len(left), refused)
	}
}

func testProfileRefused(t *testing.T, s storage.Store) {
	_, a := createUser(t, s, user("a@b.c"), profile("A"))
	_, b := createUser(t, s, user("b@b.c"), profile("B"))
	want := b
	b.Nick, b.FirstName = "New", "New"
	b.UniqueNicks = append([]storage.UniqueNick{{Namespace: 7, Nick: "free", Key: "free"}}, a.UniqueNicks[0])
	_, err := s.UpdateProfile(t.Context(), b)
	wantTaken(t, "UpdateProfile()", err, storage.IndexUniqueNick)
	differ(t, "the profile", must(s.GetProfile(t.Context(), b.ID))(t), want)
	wantErr(t, errOf2(s.ProfileByUniqueNick(t.Context(), 7, "free")), storage.ErrNotFound, "ProfileByUniqueNick() after the refusal")
	if n := len(collect(t, s.FindProfiles(t.Context(), storage.ByNick, "new"))); n != 0 {
		t.Errorf("%d profiles have the refused nick", n)
	}
}
