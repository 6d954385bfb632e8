package accounts

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// issue returns the code of a new reset link.
func issue(t *testing.T, s *Service, id storage.UserID) string {
	t.Helper()
	r, err := s.Passwords.IssueReset(t.Context(), id)
	if err != nil {
		t.Fatalf("IssueReset() = %v", err)
	}
	return r.Code
}

func TestUseReset(t *testing.T) {
	s := open(t, Options{KeepPasswords: true})
	id := register(t, s, alice()).User
	code := issue(t, s, id)
	if got, err := ResetAccount(code); err != nil || got != id {
		t.Errorf("ResetAccount() = %d, %v, want %d", got, err, id)
	}
	wantRefusal(t, "a password that games cannot send", s.Passwords.UseReset(t.Context(), code, strings.Repeat("x", MaxPassword+1), home()), ErrBadPassword)
	if err := s.Passwords.UseReset(t.Context(), code, "another", elsewhere()); err != nil {
		t.Fatalf("UseReset() = %v", err)
	}
	wantLogin(t, s, "the new password", byNick("AliceU", "another"))
	_, err := s.SignIn.CheckProof(t.Context(), byNick("AliceU", "rosebud"))
	wantRefusal(t, "the old password", err, ErrBadPassword)
	wantRefusal(t, "a second use", s.Passwords.UseReset(t.Context(), code, "third", home()), ErrBadReset)

	u, err := s.store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.secrets.password(&u); err != nil || got != "another" {
		t.Errorf("the kept password = %q, %v, want the new one", got, err)
	}
	if !s.SignIn.AtHome(elsewhere(), &u) {
		t.Error("the address of the owner is that of a stranger")
	}
}

// sign returns the code of a link that is not stored.
func sign(t *testing.T, s *Service, id storage.UserID) string {
	t.Helper()
	u, err := s.store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Passwords.SignReset(&u)
	if err != nil {
		t.Fatalf("SignReset() = %v", err)
	}
	return r.Code
}

// Signed links end no other link; the first link that is used ends all of them.
func TestSignReset(t *testing.T) {
	s := open(t, Options{})
	id := register(t, s, alice()).User
	issued := issue(t, s, id)
	first, second := sign(t, s, id), sign(t, s, id)
	if got, err := ResetAccount(first); err != nil || got != id || len(first) != len(issued) {
		t.Errorf("ResetAccount() = %d, %v, want %d; %d characters, want %d", got, err, id, len(first), len(issued))
	}
	if err := s.Passwords.UseReset(t.Context(), issued, "another", home()); err != nil {
		t.Errorf("the issued link after two signed ones: UseReset() = %v", err)
	}
	for _, code := range []string{issued, first, second} {
		wantRefusal(t, "a link after another was used", s.Passwords.UseReset(t.Context(), code, "third", home()), ErrBadReset)
	}
	first, second = sign(t, s, id), sign(t, s, id)
	if err := s.Passwords.UseReset(t.Context(), first, "fourth", home()); err != nil {
		t.Errorf("the first of two signed links: UseReset() = %v", err)
	}
	wantRefusal(t, "the second of two signed links", s.Passwords.UseReset(t.Context(), second, "fifth", home()), ErrBadReset)
	wantLogin(t, s, "the password of the link that was used", byNick("AliceU", "fourth"))
}

func TestUseResetRefused(t *testing.T) {
	change := func(code string, at int) string {
		b := []byte(code)
		b[at] ^= 1
		if b[at] == '@' || b[at] == '.' || b[at] == '`' || b[at] == '[' || b[at] == '^' {
			b[at] = 'Q'
		}
		return string(b)
	}
	tests := map[string]func(t *testing.T, s *Service, id storage.UserID, code string) string{
		"empty":           func(*testing.T, *Service, storage.UserID, string) string { return "" },
		"short":           func(_ *testing.T, _ *Service, _ storage.UserID, code string) string { return code[1:] },
		"long":            func(_ *testing.T, _ *Service, _ storage.UserID, code string) string { return code + "A" },
		"not base64":      func(_ *testing.T, _ *Service, _ storage.UserID, code string) string { return "+" + code[1:] },
		"line break":      func(_ *testing.T, _ *Service, _ storage.UserID, code string) string { return code[:47] + "\n" },
		"another account": func(_ *testing.T, _ *Service, _ storage.UserID, code string) string { return change(code, 4) },
		"another secret":  func(_ *testing.T, _ *Service, _ storage.UserID, code string) string { return change(code, 40) },
		"another end":     func(_ *testing.T, _ *Service, _ storage.UserID, code string) string { return change(code, 7) },
		"ended by a new one": func(t *testing.T, s *Service, id storage.UserID, code string) string {
			issue(t, s, id)
			return code
		},
		"ended by a new password": func(t *testing.T, s *Service, id storage.UserID, code string) string {
			if err := s.Passwords.Change(t.Context(), id, "changed"); err != nil {
				t.Fatal(err)
			}
			return code
		},
		"ended by a new e-mail": func(t *testing.T, s *Service, id storage.UserID, code string) string {
			if err := s.Passwords.ChangeEmail(t.Context(), id, "new@example.com"); err != nil {
				t.Fatal(err)
			}
			return code
		},
		"deleted account": func(t *testing.T, s *Service, id storage.UserID, code string) string {
			if err := s.Users.Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return code
		},
	}
	for name, tc := range tests {
		for kind, link := range map[string]func(*testing.T, *Service, storage.UserID) string{"issued": issue, "signed": sign} {
			if kind == "signed" && name == "ended by a new one" {
				continue // see TestSignReset
			}
			t.Run(kind+"/"+name, func(t *testing.T) {
				s := open(t, Options{})
				register(t, s, Registration{Email: "other@example.com", Nick: "Other", Password: "rosebud", From: home()})
				id := register(t, s, alice()).User
				code := tc(t, s, id, link(t, s, id))
				wantRefusal(t, "UseReset()", s.Passwords.UseReset(t.Context(), code, "stolen", home()), ErrBadReset)
				if _, err := s.SignIn.CheckPassword(t.Context(), Credentials{Email: "alice@example.com", Password: "stolen"}); err == nil {
					t.Error("the password was changed")
				}
			})
		}
	}
}

func TestResetLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		id := register(t, s, alice()).User
		code := issue(t, s, id)
		time.Sleep(ResetLife)
		wantRefusal(t, "at its end", s.Passwords.UseReset(t.Context(), code, "late", home()), ErrBadReset)
		code = issue(t, s, id)
		time.Sleep(ResetLife - 1)
		if err := s.Passwords.UseReset(t.Context(), code, "in time", home()); err != nil {
			t.Errorf("before its end: UseReset() = %v", err)
		}
		inTime := sign(t, s, id)
		time.Sleep(ResetLife - time.Second) // its end is a whole second
		if err := s.Passwords.UseReset(t.Context(), inTime, "in time", home()); err != nil {
			t.Errorf("a signed link before its end: UseReset() = %v", err)
		}
		late := sign(t, s, id)
		time.Sleep(ResetLife)
		wantRefusal(t, "a signed link at its end", s.Passwords.UseReset(t.Context(), late, "late", home()), ErrBadReset)
	})
}

func TestUseResetOnce(t *testing.T) {
	s := open(t, Options{})
	id := register(t, s, alice()).User
	code := issue(t, s, id)
	var mu sync.Mutex
	used := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := s.Passwords.UseReset(t.Context(), code, "another", home())
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				used++
			} else if !errors.Is(err, ErrBadReset) {
				t.Errorf("UseReset() = %v, want ErrBadReset", err)
			}
		})
	}
	all.Wait()
	if used != 1 {
		t.Errorf("%d of 8 uses at once succeeded, want 1", used)
	}
}

func TestResetAfterRestart(t *testing.T) {
	dir := t.TempDir()
	opt := Options{KeyFile: filepath.Join(dir, "account.key")}
	store := openStore(t, filepath.Join(dir, "respawnd.db"))
	s := openOver(t, store, opt)
	id := register(t, s, alice()).User
	code := issue(t, s, id)
	u, err := store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := resetBytes(code); err != nil || bytes.Contains(u.Reset.Digest, raw[resetIDLen:]) || len(u.Reset.Digest) != storage.ResetDigest {
		t.Errorf("the store has %x of the code %x, want a digest; %v", u.Reset.Digest, raw, err)
	}
	for _, link := range []func(*testing.T, *Service, storage.UserID) string{issue, sign} {
		code := link(t, s, id)
		s = openOver(t, store, opt)
		if _, err := s.RotateKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Passwords.UseReset(t.Context(), code, "another", home()); err != nil {
			t.Errorf("UseReset() after a restart and with a new key = %v", err)
		}
	}
}

// A new password ends the sessions granted under the old one, even if both are the
// same.
func TestResetEndsLogins(t *testing.T) {
	s := open(t, Options{})
	id := register(t, s, alice()).User
	before, err := s.store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	l := wantLogin(t, s, "before", byNick("AliceU", "rosebud"))
	if err := s.SignIn.Recheck(t.Context(), &l); err != nil {
		t.Errorf("Recheck() before = %v", err)
	}
	if err := s.Passwords.UseReset(t.Context(), issue(t, s, id), "rosebud", home()); err != nil {
		t.Fatal(err)
	}
	after, err := s.store.GetUser(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "Recheck() afterwards", s.SignIn.Recheck(t.Context(), &l), ErrBadPassword)
	one, errOne := s.Passwords.Mark(&before)
	two, errTwo := s.Passwords.Mark(&after)
	if errOne != nil || errTwo != nil || one == two {
		t.Errorf("PasswordMark() is the same after a reset to the same password; %v, %v", errOne, errTwo)
	}
	if after.Passwords <= before.Passwords {
		t.Errorf("Passwords = %d after %d, want more", after.Passwords, before.Passwords)
	}
}

func TestSweepResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		old := register(t, s, alice()).User
		issue(t, s, old)
		time.Sleep(ResetLife / 2)
		young := register(t, s, Registration{Email: "bob@example.com", Nick: "Bob", Password: "rosebud", From: home()}).User
		code := issue(t, s, young)
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{ResetLife/2 - 1, 0}, {1, 1}, {0, 0}} {
			time.Sleep(step.wait)
			if n, err := s.Passwords.SweepResets(t.Context()); err != nil || n != step.want {
				t.Errorf("SweepResets() = %d, %v, want %d", n, err, step.want)
			}
		}
		if u, err := s.store.GetUser(t.Context(), old); err != nil || u.Reset.Digest != nil || !u.Reset.Expires.IsZero() {
			t.Errorf("the expired link is %+v, %v, want none", u.Reset, err)
		}
		if err := s.Passwords.UseReset(t.Context(), code, "another", home()); err != nil {
			t.Errorf("the link that is valid: UseReset() = %v", err)
		}
	})
}
