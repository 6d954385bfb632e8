package accounts

import (
	"context"
	"testing"
)

func TestCheckProof_nickFallback(t *testing.T) {
	sign := func(namespace int, nick, password string) Proof {
		return prove(Proof{UniqueNick: nick, Namespace: namespace}, password)
	}
	account := func(namespace int, email, nick string) Registration {
		return Registration{Namespace: namespace, Email: email, Nick: "N", UniqueNick: nick, Password: "rosebud", From: home()}
	}
	s := open(t, Options{NickFallback: true})
	once := register(t, s, account(1, "a@b.c", "AliceU"))
	register(t, s, account(12, "b@b.c", "Twice"))
	register(t, s, account(16, "c@b.c", "Twice"))
	both := register(t, s, account(1, "d@b.c", "Both"))
	own := register(t, s, account(12, "e@b.c", "Both"))
	register(t, s, Registration{Partner: 3, Namespace: 1, Email: "f@b.c", Nick: "N", UniqueNick: "Partner", Password: "rosebud", From: home()})

	l := wantLogin(t, s, "from a namespace without the nick", sign(12, "AliceU", "rosebud"))
	if l.Profile.ID != once.ID || l.UniqueNick != "AliceU" {
		t.Errorf("signed in as profile %d, %q; want %d, AliceU", l.Profile.ID, l.UniqueNick, once.ID)
	}
	if l := wantLogin(t, s, "own namespace first", sign(12, "Both", "rosebud")); l.Profile.ID != own.ID {
		t.Errorf("signed in as profile %d, want %d, not %d", l.Profile.ID, own.ID, both.ID)
	}
	for name, tc := range map[string]struct {
		proof Proof
		want  Refusal
	}{
		"two other namespaces": {sign(1, "Twice", "rosebud"), ErrBadUniqueNick},
		"none":                 {sign(1, "Unknown", "rosebud"), ErrBadUniqueNick},
		"wrong password":       {sign(12, "AliceU", "wrong"), ErrBadPassword},
		"other partner code":   {sign(12, "Partner", "rosebud"), ErrBadUniqueNick},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.SignIn.CheckProof(context.Background(), tc.proof)
			wantRefusal(t, name, err, tc.want)
		})
	}
	t.Run("switched off", func(t *testing.T) {
		s := open(t, Options{})
		register(t, s, account(1, "a@b.c", "AliceU"))
		_, err := s.SignIn.CheckProof(context.Background(), sign(12, "AliceU", "rosebud"))
		wantRefusal(t, "switched off", err, ErrBadUniqueNick)
		if want := "the game signs in with namespace 12, the nick is in namespace 1"; DetailOf(err) != want {
			t.Errorf("detail %q, want %q", DetailOf(err), want)
		}
	})
	t.Run("detail", func(t *testing.T) {
		_, err := s.SignIn.CheckProof(context.Background(), sign(1, "Twice", "rosebud"))
		if want := "the game signs in with namespace 1, the nick is in namespace 12 and 16"; DetailOf(err) != want {
			t.Errorf("detail %q, want %q", DetailOf(err), want)
		}
		if _, err := s.SignIn.CheckProof(context.Background(), sign(1, "Unheard", "rosebud")); DetailOf(err) != "" {
			t.Errorf("detail of an unknown nick: %q, want none", DetailOf(err))
		}
	})
}
