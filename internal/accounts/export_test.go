package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/respawnd/respawnd/storage"
)

func TestExportAndImport(t *testing.T) {
	from, to := open(t, Options{}), open(t, Options{})
	a := register(t, from, alice())
	second, err := from.Profiles.New(t.Context(), a.User, "M\xfcller")
	if err != nil {
		t.Fatal(err)
	}
	bob := alice()
	bob.Email, bob.UniqueNick, bob.Password = "b@b.c", "Bob", "other"
	b := register(t, from, bob)
	store := from.store.Store.(storage.Stats)
	block := storage.StatBlockID{Game: "gmtest", Profile: second.ID, Kind: storage.StatPrivateWrite, Index: 3}
	_, err = store.EditStatBlock(t.Context(), block, 10, time.Now(), func([]byte) ([]byte, error) { return []byte("\xff\x00\\b"), nil })
	if err != nil {
		t.Fatal(err)
	}
	sake := from.store.Store.(storage.Sake)
	levels := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	fields := []storage.SakeField{
		{Name: "title", Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte("\xff <b>")}},
		{Name: "best", Value: storage.SakeFloatValue(-0.5)},
		{Name: "blob", Value: storage.SakeValue{Type: storage.SakeBinary, Text: []byte{0, 1}}},
	}
	for _, owner := range []storage.ProfileID{b.ID, second.ID, b.ID} {
		if _, err := sake.CreateSakeRecord(t.Context(), levels, owner, fields, storage.SakeLimits{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sake.RateSakeRecord(t.Context(), levels, 2, b.ID, 200); err != nil {
		t.Fatal(err)
	}
	file, err := from.store.Store.(storage.Files).CreateFile(t.Context(), storage.File{
		Game: "gmtest", Owner: second.ID, Name: "level.bin", Size: 3, Hash: strings.Repeat("a", 64), Created: time.Now(),
	}, storage.FileUsage{Files: 9, Bytes: 9}, storage.FileUsage{Files: 9, Bytes: 9})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.store.Store.(storage.Matches).PutMatch(t.Context(), storage.Match{
		Game: "gmtest", Session: "01234567-89ab-cdef-0123-456789abcdef", Outcome: storage.MatchAgreed, Began: time.Now(), First: time.Now(),
		Sides:    []storage.MatchSide{{Profile: second.ID, Nick: "M", Conns: []string{"01234567-89ab-cdef-0123-456789abcde0"}, Version: 1}},
		Players:  []storage.MatchPlayer{{Profile: second.ID, Nick: "M", Result: "win"}},
		Versions: []storage.MatchVersion{{Report: []byte("raw"), At: time.Now()}},
	}, nil, 9); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		store.PutScore(t.Context(), storage.Score{ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: a.ID}, Value: 7.5, Updated: time.Now()}),
		from.store.AddBuddy(t.Context(), a.ID, b.ID), from.store.AddBuddy(t.Context(), b.ID, second.ID),
		from.store.AddBlock(t.Context(), second.ID, a.ID), from.Profiles.RegisterCDKey(t.Context(), a.ID, "gmtest", "ABCD"),
		from.store.DeleteProfile(t.Context(), register(t, from, func() Registration {
			r := alice()
			r.Nick, r.UniqueNick = "Gone", ""
			return r
		}()).ID),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var all []Account
	for a, err := range from.Transfer.Export(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(a) // as it goes through a file
		if err != nil {
			t.Fatal(err)
		}
		var back Account
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		all = append(all, back)
	}
	for _, a := range all {
		if _, err := to.Transfer.Import(t.Context(), a); err != nil {
			t.Fatalf("Import() = %v", err)
		}
	}
	for range 2 {
		for _, a := range all {
			if err := to.Transfer.ImportBuddies(t.Context(), a); err != nil {
				t.Fatalf("ImportBuddies() = %v", err)
			}
		}
	}
	var again []Account
	for a, err := range to.Transfer.Export(t.Context(), true) {
		if err != nil {
			t.Fatal(err)
		}
		again = append(again, a)
	}
	if data := all[0].Profiles[1].GameData; len(data) != 1 || string(data[0].Data) != "\xff\x00\\b" || len(all[0].Profiles[0].Scores) != 1 {
		t.Errorf("data of games in the export: %+v", data)
	}
	if recs := all[0].Profiles[1].Records; len(recs) != 1 || recs[0].ID != 2 || recs[0].Ratings != 1 || len(recs[0].Fields) != 3 || len(all[1].Profiles[0].Records) != 2 {
		t.Errorf("records in the export: %+v", recs)
	}
	deeds := all[0].Profiles[1]
	if len(deeds.Files) != 1 || cmp.Diff(deeds.Files[0], file) != "" {
		t.Errorf("files in the export: %+v, want %+v", deeds.Files, file)
	}
	if m := deeds.Matches; len(m) != 1 || m[0].Players[0].Result != "win" || m[0].Versions != nil || m[0].Sides[0].Conns != nil {
		t.Errorf("matches in the export: %+v", m)
	}
	if len(all[0].Profiles[0].Files)+len(all[1].Profiles[0].Matches) > 0 {
		t.Error("files or matches of others in the export")
	}
	if diff := cmp.Diff(all, again, cmpopts.IgnoreFields(storage.Profile{}, "Rev"), cmpopts.IgnoreFields(AccountProfile{}, "Files", "Matches"), cmpopts.EquateEmpty()); diff != "" || len(all) != 2 {
		t.Errorf("after export and import (-want +got):\n%s", diff)
	}
	wantLogin(t, to, "an imported account", byNick("AliceU", "rosebud"))
	wantLogin(t, to, "a nick that is not UTF-8", prove(Proof{User: "M\xfcller@alice@example.com"}, "rosebud"))
	if next := register(t, to, func() Registration { r := alice(); r.Email, r.UniqueNick = "c@b.c", ""; return r }()); next.ID <= b.ID {
		t.Errorf("profile %d came after the imported %d", next.ID, b.ID)
	}
	_, err = to.Transfer.Import(t.Context(), all[0])
	if !errors.Is(err, storage.ErrTaken) && !errors.Is(err, ErrEmailTaken) {
		t.Errorf("the second Import() = %v, want a refusal", err)
	}
	for a, err := range from.Transfer.Export(t.Context(), false) {
		if err != nil || a.MD5 != "" || a.Password != "" {
			t.Errorf("Export() without secrets has one of user %d (%v)", a.ID, err)
		}
	}
}

func TestImportFromOtherServers(t *testing.T) {
	s := open(t, Options{})
	profiles := func(nick string) []AccountProfile {
		return []AccountProfile{{Profile: storage.Profile{Nick: nick, UniqueNicks: []storage.UniqueNick{{Namespace: 1, Nick: nick}}}}}
	}
	for name, a := range map[string]Account{
		"with the password":   {Email: "a@b.c", Password: "rosebud", Profiles: profiles("Plain")},
		"with its digest":     {Email: "b@b.c", MD5: strings.ToUpper(secretOf("rosebud")), Profiles: profiles("Digest")},
		"against our rules":   {Email: "c@b.c", Password: "rosebud", Profiles: profiles("id")},
		"without a password":  {Email: "d@b.c", Profiles: profiles("Nothing")},
		"several profiles":    {Email: "e@b.c", Password: "rosebud", Profiles: append(profiles("One"), profiles("Two")...)},
		"ids of its own":      {ID: 70, Email: "f@b.c", Password: "rosebud", Profiles: profiles("Seventy")},
		"another partnercode": {Email: "a@b.c", Partner: 10, Password: "rosebud", Profiles: profiles("Partner")},
	} {
		got, err := s.Transfer.Import(t.Context(), a)
		if err != nil || got.ID == 0 || got.Profiles[0].Profile.ID == 0 || got.Password != "" || got.MD5 != "" {
			t.Errorf("%s: Import() = %+v, %v", name, got, err)
			continue
		}
		p := prove(Proof{UniqueNick: a.Profiles[0].Profile.Nick, Namespace: 1, Partner: a.Partner}, "rosebud")
		if a.Password == "" && a.MD5 == "" {
			_, err := s.SignIn.CheckProof(t.Context(), p)
			wantRefusal(t, "a login without password", err, ErrBadPassword)
			if err := s.Passwords.Change(t.Context(), got.ID, "rosebud"); err != nil {
				t.Fatal(err)
			}
		}
		wantLogin(t, s, name, p)
	}
	for name, tt := range map[string]struct {
		a    Account
		want error
	}{
		"no e-mail":       {Account{Email: "x", Profiles: profiles("X1")}, ErrBadEmail},
		"no profile":      {Account{Email: "x@b.c"}, ErrBadProfile},
		"bad digest":      {Account{Email: "x@b.c", MD5: "12", Profiles: profiles("X1")}, ErrBadPassword},
		"taken nick":      {Account{Email: "x@b.c", Profiles: profiles("plain")}, ErrUniqueNickTaken},
		"bad profile":     {Account{Email: "x@b.c", Profiles: profiles("")}, storage.ErrInvalid},
		"same nick twice": {Account{Email: "x@b.c", Profiles: append(profiles("X1"), profiles("X1")...)}, ErrNickTaken},
		"negative number": {Account{Email: "x@b.c", Partner: -1, Profiles: profiles("X1")}, storage.ErrInvalid},
	} {
		if _, err := s.Transfer.Import(t.Context(), tt.a); !errors.Is(err, tt.want) {
			t.Errorf("%s: Import() = %v, want %v", name, err, tt.want)
		}
		if _, err := s.store.UserByEmail(t.Context(), 0, "x@b.c"); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: a refused import left an account (%v)", name, err)
		}
	}
}

// dying is a store whose process ends after a number of changes of accounts.
type dying struct {
	Store
	left int
}

var errDied = errors.New("the process has ended")

func (d *dying) die() error {
	if d.left--; d.left < 0 {
		return errDied
	}
	return nil
}

func (d *dying) CreateUser(ctx context.Context, u storage.User, p storage.Profile) (storage.User, storage.Profile, error) {
	if err := d.die(); err != nil {
		return u, p, err
	}
	return d.Store.CreateUser(ctx, u, p)
}

func (d *dying) ImportUsers(ctx context.Context, list []storage.NewUser) error {
	if err := d.die(); err != nil {
		return err
	}
	return d.Store.ImportUsers(ctx, list)
}

func (d *dying) CreateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	if err := d.die(); err != nil {
		return p, err
	}
	return d.Store.CreateProfile(ctx, p)
}

func (d *dying) DeleteUser(ctx context.Context, id storage.UserID) error {
	if err := d.die(); err != nil {
		return err
	}
	return d.Store.DeleteUser(ctx, id)
}

// However early an import ends, an account has all of its profiles or is not
// there, so that the next import adds the missing accounts.
func TestImportThatDiesLeavesNoHalfAccount(t *testing.T) {
	many := Account{Email: "many@b.c", Password: "rosebud"}
	for _, nick := range []string{"One", "Two", "Three"} {
		many.Profiles = append(many.Profiles, AccountProfile{Profile: storage.Profile{Nick: nick}})
	}
	for left := range 4 {
		dir := t.TempDir()
		store := openStore(t, filepath.Join(dir, "respawnd.db"))
		keys := Options{KeyFile: filepath.Join(dir, "account.key")}
		_, err := openOver(t, &dying{store, left}, keys).Transfer.Import(t.Context(), many)
		if err != nil && !errors.Is(err, errDied) {
			t.Fatalf("Import() = %v", err)
		}
		if _, err := openOver(t, store, keys).Transfer.Import(t.Context(), many); err != nil && !errors.Is(err, ErrEmailTaken) {
			t.Errorf("after %d changes: the second Import() = %v", left, err)
		}
		u, err := store.UserByEmail(t.Context(), 0, many.Email)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := store.ProfilesOf(t.Context(), u.ID); len(got) != len(many.Profiles) || err != nil {
			t.Errorf("after %d changes: %d profiles after the second import (%v), want %d", left, len(got), err, len(many.Profiles))
		}
	}
}
