package accounts

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func TestConsole(t *testing.T) {
	s := open(t, Options{})
	register(t, s, alice()) // AliceU in namespace 1
	ann := ConsolePlayer{Console: "ps3", ID: 0x1a2b, Nick: "AliceU", Partner: 19, Namespace: 1, From: home()}
	sign := func(c ConsolePlayer, want error, wantMade bool) storage.Profile {
		t.Helper()
		p, made, err := s.Users.Console(t.Context(), c)
		if !errors.Is(err, want) || (err != nil) != (want != nil) || made != wantMade {
			t.Fatalf("Console(%+v) = %+v, %v, %v, want %v and %v", c, p, made, err, wantMade, want)
		}
		return p
	}
	first := sign(ann, nil, true)
	if len(first.UniqueNicks) != 0 {
		t.Errorf("unique nicks %+v, want none: another profile has it", first.UniqueNicks)
	}
	renamed := ann
	renamed.Nick = "Other" // the number decides, not the name
	if again := sign(renamed, nil, false); again.ID != first.ID || again.Nick != "AliceU" {
		t.Errorf("profile %d %s, want %d", again.ID, again.Nick, first.ID)
	}
	other := ann
	other.ID, other.Nick = 0x1a2c, "Bob"
	if p := sign(other, nil, true); p.ID == first.ID || p.UniqueNickIn(1) != "Bob" {
		t.Errorf("profile %+v, want another one with the unique nick Bob", p)
	}
	other.Partner = 33 // another network
	sign(other, nil, true)

	// No password signs in to it.
	for _, password := range []string{"", "x"} {
		_, err := s.SignIn.CheckProof(t.Context(), Proof{User: "AliceU@ps3-0000000000001a2b@" + ConsoleDomain, Partner: 19, Digest: secretOf(password), From: home()})
		if !errors.Is(err, ErrBadPassword) && !errors.Is(err, ErrBadEmail) {
			t.Errorf("CheckProof(%q) = %v, want a refusal", password, err)
		}
	}

	bad := ann
	for name, change := range map[string]struct {
		edit func()
		want error
	}{
		"no id":          {func() { bad.ID = 0 }, ErrMalformed},
		"long variant":   {func() { bad.Variant = strings.Repeat("a", MaxVariant+1) }, ErrMalformed},
		"bad variant":    {func() { bad.Variant = "a@b" }, ErrMalformed},
		"no nick":        {func() { bad.Nick = "" }, ErrBadNick},
		"backslash":      {func() { bad.Nick = `a\b` }, ErrBadNick},
		"partner":        {func() { bad.Partner = -1 }, ErrMalformed},
		"namespace":      {func() { bad.Namespace = -1 }, ErrMalformed},
		"no new account": {func() { bad.ID, bad.MayRegister = 99, func() bool { return false } }, ErrThrottled},
	} {
		bad = ann
		change.edit()
		if _, made, err := s.Users.Console(t.Context(), bad); !errors.Is(err, change.want) || made {
			t.Errorf("%s: %v, want %v", name, err, change.want)
		}
	}

	u, err := s.store.UserByEmail(t.Context(), 19, ann.Email())
	if err != nil {
		t.Fatal(err)
	}
	u.Ban = storage.AccountBan{Added: time.Now().Add(-time.Minute)}
	if _, err := s.store.UpdateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	sign(ann, ErrBanned, false)
}

// TestConsoleOfPasswordAccount signs in with a ticket whose account a player with a password
// has made before.
func TestConsoleOfPasswordAccount(t *testing.T) {
	s := open(t, Options{})
	c := ConsolePlayer{Console: "ps3", ID: 7, Nick: "Eve", From: home()}
	register(t, s, Registration{Email: c.Email(), Nick: "Eve", Password: "rosebud", From: elsewhere()})
	if _, made, err := s.Users.Console(t.Context(), c); !errors.Is(err, ErrBadTicket) || made {
		t.Errorf("Console() = %v, want ErrBadTicket", err)
	}
}

// TestConsoleVariant has accounts of one player of a console that a variant tells apart, and
// the longest of their addresses.
func TestConsoleVariant(t *testing.T) {
	s := open(t, Options{})
	c := ConsolePlayer{Console: "nds", ID: 1<<43 - 1, Nick: "Ann", From: home()}
	ids := make(map[storage.ProfileID]bool)
	for _, variant := range []string{"", "rmcj", "rmcj-0123abcd", strings.Repeat("a", MaxVariant)} {
		c.Variant = variant
		p, made, err := s.Users.Console(t.Context(), c)
		if err != nil || !made || ids[p.ID] {
			t.Errorf("Console() for variant %q = %+v, %v, %v", variant, p, made, err)
		}
		ids[p.ID] = true
		if again, made, err := s.Users.Console(t.Context(), c); again.ID != p.ID || made || err != nil {
			t.Errorf("once more: profile %d, %v, %v, want %d", again.ID, made, err, p.ID)
		}
	}
	if c.ID = math.MaxUint64; len(c.Email()) <= storage.MaxEmail {
		t.Errorf("the address %q fits, so MaxVariant may be longer", c.Email())
	}
}

func TestConsoleToken(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	token, err := s.Grants.IssueConsoleToken(p.ID)
	if err != nil || !strings.HasPrefix(token.Value, "NDS") || len(token.Challenge) != 8 {
		t.Fatalf("IssueConsoleToken() = %+v, %v", token, err)
	}
	for range 2 { // it is not used up
		l, err := s.SignIn.CheckProof(t.Context(), Proof{Token: token.Value, Digest: token.Challenge, Namespace: 1, From: home()})
		if err != nil || l.Profile.ID != p.ID {
			t.Errorf("CheckProof() = %+v, %v, want profile %d", l, err, p.ID)
		}
	}
	if _, err := s.SignIn.CheckProof(t.Context(), Proof{Token: token.Value, Digest: "ABCDEFGH", From: home()}); !errors.Is(err, ErrBadPassword) {
		t.Errorf("with another challenge: %v", err)
	}
	if _, err := s.SignIn.CheckStatsProof(t.Context(), StatsProof{Token: token.Value, Challenge: "x", Response: secretOf(token.Challenge + "x"), From: home()}); err != nil {
		t.Errorf("CheckStatsProof() = %v", err)
	}
}
