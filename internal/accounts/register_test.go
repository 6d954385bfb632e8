package accounts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage"
)

func TestRegister(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	if p.ID == 0 || p.User == 0 || p.UniqueNickIn(1) != "AliceU" || p.PublicMask != DefaultPublicMask {
		t.Errorf("Register() = %+v", p)
	}
	if p.PublicMask&32 != 0 || p.PublicMask&8 != 0 || p.PublicMask&1 == 0 {
		t.Errorf("public mask = %x, want all but e-mail and birthday", p.PublicMask)
	}
	tests := map[string]struct {
		change func(*Registration)
		want   Refusal
	}{
		"same nick":              {func(*Registration) {}, ErrNickTaken},
		"wrong password":         {func(r *Registration) { r.Nick, r.Password = "New", "x" }, ErrBadPassword},
		"unique nick in use":     {func(r *Registration) { r.Email, r.UniqueNick = "b@b.c", "aliceu" }, ErrUniqueNickTaken},
		"like a unique nick":     {func(r *Registration) { r.Email, r.UniqueNick = "b@b.c", "[AliceU]" }, ErrUniqueNickTaken},
		"in use, second profile": {func(r *Registration) { r.Nick = "New" }, ErrUniqueNickTaken},
		"illegal unique nick":    {func(r *Registration) { r.UniqueNick = "1" }, ErrUniqueNickIllegal},
		"reserved unique nick":   {func(r *Registration) { r.UniqueNick = "uniquenick" }, ErrUniqueNickReserved},
		"no nick":                {func(r *Registration) { r.Nick = "" }, ErrBadNick},
		"long nick":              {func(r *Registration) { r.Nick = strings.Repeat("n", 31) }, ErrBadNick},
		"backslash in nick":      {func(r *Registration) { r.Nick = `a\final\` }, ErrBadNick},
		"key word as nick":       {func(r *Registration) { r.Nick = "ID" }, ErrBadNick},
		"no e-mail":              {func(r *Registration) { r.Email = "alice" }, ErrBadEmail},
		"no password":            {func(r *Registration) { r.Password = "" }, ErrBadPassword},
		"negative namespace":     {func(r *Registration) { r.Namespace = -1 }, ErrMalformed},
		"negative partner":       {func(r *Registration) { r.Partner = -1 }, ErrMalformed},
		"huge partner":           {func(r *Registration) { r.Partner = 1 << 40 }, ErrMalformed},
	}
	for name, tt := range tests {
		r := alice()
		tt.change(&r)
		_, err := s.Users.Register(t.Context(), r)
		wantRefusal(t, name, err, tt.want)
		if taken, ok := errors.AsType[*NickTakenError](err); tt.want == ErrNickTaken && (!ok || taken.Profile != p.ID) {
			t.Errorf("%s: %v does not name profile %d", name, err, p.ID)
		}
	}
	if profiles, err := s.store.ProfilesOf(t.Context(), p.User); err != nil || len(profiles) != 1 {
		t.Errorf("profiles after the refusals: %v, %v", profiles, err)
	}
}

func TestRegisterAddsProfile(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	r := alice()
	r.Email, r.Nick, r.UniqueNick = "ALICE@EXAMPLE.COM", "M\xfcller", "Second"
	second := register(t, s, r)
	if second.User != p.User || second.ID == p.ID || second.Nick != "M\xfcller" {
		t.Errorf("Register() = %+v, want a profile of user %d", second, p.User)
	}
	r.Partner, r.Nick, r.UniqueNick, r.Password = 10, "Alice", "", "other"
	if other := register(t, s, r); other.User == p.User {
		t.Error("the account of another partner code is the same")
	}
	r = alice()
	r.Email, r.Namespace = "b@b.c", 0
	if none := register(t, s, r); len(none.UniqueNicks) != 0 {
		t.Errorf("Register() in namespace 0 = %+v, want no unique nick", none)
	}
	for i := 2; i < storage.MaxProfiles; i++ {
		r := alice()
		r.Nick, r.UniqueNick = fmt.Sprint("N", i), ""
		register(t, s, r)
	}
	r = alice()
	r.Nick, r.UniqueNick = "Over", ""
	_, err := s.Users.Register(t.Context(), r)
	wantRefusal(t, "one profile too many", err, ErrTooMany)
}

func TestRegistrationsAtOnce(t *testing.T) {
	s := open(t, Options{})
	const racers = 16
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			r := alice()
			r.UniqueNick = fmt.Sprint("Alice", i)
			if i%2 == 1 { // half want the same unique nick with e-mails of their own
				r.Email, r.UniqueNick = fmt.Sprintf("%d@b.c", i), "Wanted"
			}
			_, errs[i] = s.Users.Register(t.Context(), r)
		})
	}
	wg.Wait()
	won := map[int]int{}
	for i, err := range errs {
		if err == nil {
			won[i%2]++
			continue
		}
		wantRefusal(t, fmt.Sprint("racer ", i), err, []Refusal{ErrNickTaken, ErrUniqueNickTaken}[i%2])
	}
	if won[0] != 1 || won[1] != 1 {
		t.Errorf("%d won the e-mail and %d the unique nick, want 1 and 1", won[0], won[1])
	}
}

func TestCheckPassword(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	tests := map[string]struct {
		c    Credentials
		want Refusal
	}{
		"unknown e-mail":  {Credentials{Email: "b@b.c", Password: "rosebud"}, ErrBadEmail},
		"another partner": {Credentials{Email: "alice@example.com", Partner: 1, Password: "rosebud"}, ErrBadEmail},
		"wrong password":  {Credentials{Email: "alice@example.com", Password: "Rosebud"}, ErrBadPassword},
		"its digest":      {Credentials{Email: "alice@example.com", Password: secretOf("rosebud")}, ErrBadPassword},
		"no password":     {Credentials{Email: "alice@example.com"}, ErrBadPassword},
	}
	for name, tt := range tests {
		_, err := s.SignIn.CheckPassword(t.Context(), tt.c)
		wantRefusal(t, name, err, tt.want)
	}
	right := Credentials{Email: "ALICE@example.com", Password: "rosebud", From: home()}
	if id, err := s.SignIn.CheckPassword(t.Context(), right); id != p.User || err != nil {
		t.Errorf("CheckPassword() = %d, %v, want %d", id, err, p.User)
	}
	if err := s.Passwords.Change(t.Context(), p.User, "new"); err != nil {
		t.Fatalf("ChangePassword() = %v", err)
	}
	_, err := s.SignIn.CheckPassword(t.Context(), right)
	wantRefusal(t, "the old password", err, ErrBadPassword)
	wantLogin(t, s, "the new password", byNick("AliceU", "new"))
	wantRefusal(t, "an empty password", s.Passwords.Change(t.Context(), p.User, ""), ErrBadPassword)
	if err := s.Passwords.Change(t.Context(), 999, "new"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("ChangePassword() of an unknown one = %v, want ErrNotFound", err)
	}
}

func TestChangeEmailKeepsThePassword(t *testing.T) {
	s := open(t, Options{KeepPasswords: true})
	p := register(t, s, alice())
	bob := alice()
	bob.Email, bob.UniqueNick = "bob@example.com", ""
	register(t, s, bob)
	wantRefusal(t, "an e-mail in use", s.Passwords.ChangeEmail(t.Context(), p.User, "BOB@example.com"), ErrEmailTaken)
	wantRefusal(t, "no e-mail", s.Passwords.ChangeEmail(t.Context(), p.User, "bob"), ErrBadEmail)
	if err := s.Passwords.ChangeEmail(t.Context(), p.User, "new@example.com"); err != nil {
		t.Fatalf("ChangeEmail() = %v", err)
	}
	wantLogin(t, s, "the new e-mail", prove(Proof{User: "Alice@new@example.com"}, "rosebud"))
	wantKept(t, s, "a changed e-mail", p.User, "rosebud")
}

func TestBan(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	ticket := s.Grants.IssueTicket(p.ID)
	if err := s.Users.Ban(t.Context(), p.User, time.Now().Add(time.Hour), "spam", "admin"); err != nil {
		t.Fatal(err)
	}
	_, err := s.SignIn.CheckProof(t.Context(), byNick("AliceU", "rosebud"))
	wantRefusal(t, "a banned login", err, ErrBanned)
	_, err = s.SignIn.CheckProof(t.Context(), byNick("AliceU", "wrong"))
	wantRefusal(t, "a banned login with a wrong password", err, ErrBadPassword)
	_, err = s.SignIn.CheckPassword(t.Context(), Credentials{Email: "alice@example.com", Password: "rosebud"})
	wantRefusal(t, "CheckPassword() of a banned account", err, ErrBanned)
	_, err = s.SignIn.CheckProof(t.Context(), Proof{Ticket: ticket, Response: respond(secretOf(""), ticket, "", "")})
	wantRefusal(t, "the ticket of a banned account", err, ErrBanned)
	r := alice()
	r.Nick, r.UniqueNick = "New", ""
	_, err = s.Users.Register(t.Context(), r)
	wantRefusal(t, "a further profile of a banned account", err, ErrBanned)
	for range 2 {
		if err := s.Users.Unban(t.Context(), p.User); err != nil {
			t.Fatal(err)
		}
	}
	wantLogin(t, s, "an unbanned login", byNick("AliceU", "rosebud"))
	if err := s.Users.Ban(t.Context(), p.User, time.Now().Add(-1), "", ""); err != nil {
		t.Fatal(err)
	}
	wantLogin(t, s, "a ban that is over", byNick("AliceU", "rosebud"))
}

func TestUpdateProfileKeepsTheRules(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	if _, err := s.Profiles.New(t.Context(), p.User, "Second"); err != nil {
		t.Fatal(err)
	}
	updated, err := s.Profiles.Update(t.Context(), p.ID, func(p *storage.Profile) error {
		p.FirstName, p.Homepage, p.ICQ = `A\l`+"\x00", "http://x.y/", 12345
		p.ID, p.User, p.Rev, p.UniqueNicks = 99, 98, 97, nil // fields that an edit must not change
		return nil
	})
	if err != nil {
		t.Fatalf("UpdateProfile() = %v", err)
	}
	want := p
	want.FirstName, want.Homepage, want.ICQ, want.Rev = "A/l", "http://x.y/", 12345, updated.Rev
	if diff := cmp.Diff(want, updated); diff != "" {
		t.Errorf("UpdateProfile() (-want +got):\n%s", diff)
	}
	tests := map[string]struct {
		edit func(*storage.Profile)
		want Refusal
	}{
		"nick of another profile": {func(p *storage.Profile) { p.Nick = "second" }, ErrNickTaken},
		"no nick":                 {func(p *storage.Profile) { p.Nick = "" }, ErrBadNick},
		"key word as zip code":    {func(p *storage.Profile) { p.Zip = "id" }, ErrBadField},
		"key word as last name":   {func(p *storage.Profile) { p.LastName = "Sig" }, ErrBadField},
		"long place":              {func(p *storage.Profile) { p.Place = strings.Repeat("x", 128) }, ErrBadField},
		"impossible birthday":     {func(p *storage.Profile) { p.Birthday = storage.Birthday(31, 2, 1990) }, ErrBadField},
	}
	for name, tt := range tests {
		_, err := s.Profiles.Update(t.Context(), p.ID, func(p *storage.Profile) error { tt.edit(p); return nil })
		wantRefusal(t, name, err, tt.want)
	}
	_, err = s.Profiles.Update(t.Context(), p.ID, func(*storage.Profile) error { return ErrMalformed })
	wantRefusal(t, "an edit that refuses", err, ErrMalformed)
	_, err = s.Profiles.Update(t.Context(), 999, func(*storage.Profile) error { return nil })
	wantRefusal(t, "unknown", err, ErrBadProfile)
}

func TestEditsAtOnceAllHappen(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := s.Profiles.Update(t.Context(), p.ID, func(p *storage.Profile) error { p.ICQ++; return nil }); err != nil {
				t.Errorf("UpdateProfile() = %v", err)
			}
		})
	}
	wg.Wait()
	if got, err := s.store.GetProfile(t.Context(), p.ID); err != nil || got.ICQ != 8 {
		t.Errorf("%d of 8 edits happened (%v)", got.ICQ, err)
	}
}

func TestRegisterNick(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	bob := alice()
	bob.Email, bob.UniqueNick = "b@b.c", "Bob"
	register(t, s, bob)
	tests := map[string]struct {
		namespace int
		nick      string
		want      Refusal
	}{
		"taken":        {1, "BOB", ErrUniqueNickTaken},
		"reserved":     {1, "_nick_", ErrUniqueNickReserved},
		"illegal":      {1, "a b c", ErrUniqueNickIllegal},
		"no namespace": {0, "Fine", ErrBadNamespace},
	}
	for name, tt := range tests {
		_, err := s.Profiles.RegisterNick(t.Context(), p.ID, tt.namespace, tt.nick)
		wantRefusal(t, name, err, tt.want)
		wantRefusal(t, name+", CheckUniqueNick", s.Profiles.CheckUniqueNick(t.Context(), tt.namespace, tt.nick), tt.want)
	}
	for _, nick := range []string{"AliceNew", "ALICENEW"} {
		got, err := s.Profiles.RegisterNick(t.Context(), p.ID, 1, nick)
		if err != nil || got.UniqueNickIn(1) != nick || len(got.UniqueNicks) != 1 {
			t.Errorf("RegisterNick(%s) = %+v, %v", nick, got, err)
		}
	}
	if got, err := s.Profiles.RegisterNick(t.Context(), p.ID, 7, "Bob"); err != nil || len(got.UniqueNicks) != 2 {
		t.Errorf("RegisterNick() in another namespace = %+v, %v", got, err)
	}
	if err := s.Profiles.CheckUniqueNick(t.Context(), 1, "AliceU"); err != nil {
		t.Errorf("CheckUniqueNick() of the old nick = %v, want it free", err)
	}
}

func TestProfileByUniqueNickOfAnotherSpelling(t *testing.T) {
	s := open(t, Options{})
	r := alice()
	r.UniqueNick = "%Joe%"
	p := register(t, s, r)
	if got, _, err := s.Profiles.ByUniqueNick(t.Context(), 1, "%JOE%"); err != nil || got.ID != p.ID {
		t.Errorf("ProfileByUniqueNick() = %+v, %v, want profile %d", got, err, p.ID)
	}
	if _, _, err := s.Profiles.ByUniqueNick(t.Context(), 1, "joe"); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("ProfileByUniqueNick() of another spelling = %v, want ErrNotFound", err)
	}
}

func TestSuggest(t *testing.T) {
	s := open(t, Options{})
	for i, nick := range []string{"Joe", "Joe1"} {
		r := alice()
		r.Email, r.UniqueNick = fmt.Sprintf("%d@b.c", i), nick
		register(t, s, r)
	}
	year := fmt.Sprint(time.Now().Year())
	tests := map[string]struct {
		wish string
		want []string
	}{
		"free":           {"Free", []string{"Free", "Free1", "Free2"}},
		"taken":          {"joe", []string{"joe2", "joe" + year, "joe4"}},
		"illegal":        {`a b,c\`, []string{"abc", "abc1", "abc2"}},
		"leading digit":  {"1337", []string{"x1337", "x13371", "x13372"}},
		"reserved":       {"nick", []string{"nick1", "nick2", "nick" + year}},
		"too short":      {"ab", []string{"ab1", "ab2", "ab" + year}},
		"too long":       {strings.Repeat("a", 30), []string{strings.Repeat("a", 20), strings.Repeat("a", 19) + "1", strings.Repeat("a", 19) + "2"}},
		"nothing left":   {"\\\\\\", []string{"Player", "Player1", "Player2"}},
		"empty":          {"", []string{"Player", "Player1", "Player2"}},
		"leading signs":  {"@#x:y", []string{"x:y", "x:y1", "x:y2"}},
		"multibyte text": {"M\u00fcll\xff", []string{"Mll", "Mll1", "Mll2"}},
	}
	for name, tt := range tests {
		if got, err := s.Profiles.Suggest(t.Context(), 1, tt.wish, 3); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: Suggest(%q) = %q, %v, want %q", name, tt.wish, got, err, tt.want)
		}
	}
	if got, err := s.Profiles.Suggest(t.Context(), 0, "Joe", 3); len(got) != 0 || err != nil {
		t.Errorf("Suggest() in namespace 0 = %q, %v, want none", got, err)
	}
	if got, err := s.Profiles.Suggest(t.Context(), 1, "Joe", 1000); len(got) > maxSuggestTries || err != nil {
		t.Errorf("Suggest(1000) = %d, %v, want at most %d", len(got), err, maxSuggestTries)
	}
}

func TestProfilesOfAnAccount(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	second, err := s.Profiles.New(t.Context(), p.User, "Second")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Profiles.New(t.Context(), p.User, "SECOND")
	wantRefusal(t, "NewProfile() with a nick in use", err, ErrNickTaken)
	if taken, ok := errors.AsType[*NickTakenError](err); !ok || taken.Profile != second.ID {
		t.Errorf("%v does not name profile %d", err, second.ID)
	}
	_, err = s.Profiles.New(t.Context(), p.User, "pid")
	wantRefusal(t, "NewProfile() with a key word", err, ErrBadNick)
	_, err = s.Profiles.Replace(t.Context(), p.User, "Unknown", "New")
	wantRefusal(t, "ReplaceProfile() of an unknown one", err, ErrNoOldNick)
	_, err = s.Profiles.Replace(t.Context(), p.User, "Second", "alice")
	wantRefusal(t, "ReplaceProfile() with a nick in use", err, ErrNickTaken)
	if got, err := s.Profiles.Replace(t.Context(), p.User, "second", "New"); err != nil || got.ID != second.ID || got.Nick != "New" {
		t.Errorf("ReplaceProfile() = %+v, %v, want profile %d", got, err, second.ID)
	}
	if err := s.Profiles.Delete(t.Context(), second.ID); err != nil {
		t.Errorf("DeleteProfile() = %v", err)
	}
	wantRefusal(t, "DeleteProfile() again", s.Profiles.Delete(t.Context(), second.ID), ErrProfileDeleted)
	wantRefusal(t, "DeleteProfile() of the last", s.Profiles.Delete(t.Context(), p.ID), ErrLastProfile)
	if err := s.Users.Delete(t.Context(), p.User); err != nil {
		t.Errorf("DeleteUser() = %v", err)
	}
	_, err = s.SignIn.CheckProof(t.Context(), byNick("AliceU", "rosebud"))
	wantRefusal(t, "a login of a deleted account", err, ErrBadUniqueNick)
}

func TestRegisterCDKey(t *testing.T) {
	s := open(t, Options{})
	a := register(t, s, alice())
	bob := alice()
	bob.Email, bob.UniqueNick = "b@b.c", ""
	b := register(t, s, bob)
	for range 2 {
		if err := s.Profiles.RegisterCDKey(t.Context(), a.ID, "gmtest", "ABCD-1234"); err != nil {
			t.Errorf("RegisterCDKey() = %v", err)
		}
	}
	if err := s.Profiles.RegisterCDKey(t.Context(), a.ID, "gmtest", "abcd 1234"); err != nil {
		t.Errorf("RegisterCDKey() of the same key = %v", err)
	}
	if err := s.Profiles.RegisterCDKey(t.Context(), a.ID, "other", "ABCD-1234"); err != nil {
		t.Errorf("RegisterCDKey() of another game = %v", err)
	}
	tests := map[string]struct {
		id        storage.ProfileID
		game, key string
		want      Refusal
	}{
		"another key":   {a.ID, "gmtest", "ABCD-9999", ErrCDKeySet},
		"of another":    {b.ID, "GMtest", "abcd1234", ErrCDKeyTaken},
		"empty":         {b.ID, "gmtest", "", ErrBadCDKey},
		"nothing in it": {b.ID, "gmtest", "- -", ErrBadCDKey},
		"long":          {b.ID, "gmtest", strings.Repeat("x", 65), ErrBadCDKey},
		"no game":       {b.ID, "", "ABCD", ErrBadCDKey},
		"unknown":       {999, "gmtest", "XYZ", ErrBadProfile},
	}
	for name, tt := range tests {
		wantRefusal(t, name, s.Profiles.RegisterCDKey(t.Context(), tt.id, tt.game, tt.key), tt.want)
	}
}
