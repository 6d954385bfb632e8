package accounts

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// wantKept checks the password itself of an account, "" for not kept.
func wantKept(t *testing.T, s *Service, what string, id storage.UserID, want string) {
	t.Helper()
	u, err := s.store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.secrets.password(&u)
	if want == "" && !errors.Is(err, ErrNotKept) || want != "" && err != nil || got != want {
		t.Errorf("%s: password() = %q, %v, want %q", what, got, err, want)
	}
}

// openTwice returns a service that keeps only digests and one that keeps passwords,
// over the same store.
func openTwice(t *testing.T) (digests, passwords *Service) {
	dir := t.TempDir()
	store := openStore(t, filepath.Join(dir, "respawnd.db"))
	opt := Options{KeyFile: filepath.Join(dir, "account.key")}
	digests = openOver(t, store, opt)
	opt.KeepPasswords = true
	return digests, openOver(t, store, opt)
}

func TestKeepPasswords(t *testing.T) {
	digests, keeps := openTwice(t)
	p := register(t, digests, alice())
	wantKept(t, digests, "registered without", p.User, "")

	change := func(s *Service, password string) {
		t.Helper()
		if err := s.Passwords.Change(t.Context(), p.User, password); err != nil {
			t.Fatal(err)
		}
	}
	change(keeps, "second")
	wantKept(t, keeps, "changed with", p.User, "second")
	change(digests, "third")
	wantKept(t, keeps, "changed without", p.User, "")

	sign := func(s *Service, password string) error {
		_, err := s.SignIn.CheckPassword(t.Context(), Credentials{Email: alice().Email, Password: password, From: home()})
		return err
	}
	t.Run("sign-in", func(t *testing.T) {
		wantRefusal(t, "the old password", sign(keeps, "second"), ErrBadPassword)
		wantKept(t, keeps, "after a wrong password", p.User, "")
		if err := sign(digests, "third"); err != nil {
			t.Fatal(err)
		}
		wantKept(t, keeps, "after a sign-in without", p.User, "")
		if err := sign(keeps, "third"); err != nil {
			t.Fatal(err)
		}
		wantKept(t, keeps, "after a sign-in with", p.User, "third")
		if err := sign(digests, "third"); err != nil {
			t.Fatal(err)
		}
		wantKept(t, keeps, "switched off later", p.User, "third")
	})
	t.Run("further profile", func(t *testing.T) {
		change(digests, "fourth")
		r := alice()
		r.Nick, r.UniqueNick, r.Password = "Second", "", "fourth"
		register(t, keeps, r)
		wantKept(t, keeps, "after another registration", p.User, "fourth")
	})
	t.Run("changed meanwhile", func(t *testing.T) {
		change(digests, "fifth")
		u, err := keeps.store.GetUser(t.Context(), p.User)
		if err != nil {
			t.Fatal(err)
		}
		change(digests, "sixth")
		keeps.SignIn.keep(t.Context(), &u, "fifth")
		wantKept(t, keeps, "the password before", p.User, "")
	})
	t.Run("new key", func(t *testing.T) {
		change(keeps, "seventh")
		if _, err := keeps.RotateKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantKept(t, keeps, "after a rotation", p.User, "seventh")
	})
}
