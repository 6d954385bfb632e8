package accounts

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/records"
)

// home and elsewhere are two unrelated addresses.
func home() netip.Addr      { return netip.MustParseAddr("192.0.2.1") }
func elsewhere() netip.Addr { return netip.MustParseAddr("198.51.100.7") }

// openStore returns a store that is closed with the test.
func openStore(t testing.TB, path string) *records.Store {
	t.Helper()
	store := storetest.File(t, path)
	return store
}

// open returns a service over a new store.
func open(t testing.TB, opt Options) *Service {
	t.Helper()
	dir := t.TempDir()
	if opt.KeyFile == "" {
		opt.KeyFile = filepath.Join(dir, "account.key")
	}
	return openOver(t, openStore(t, filepath.Join(dir, "respawnd.db")), opt)
}

func openOver(t testing.TB, store Store, opt Options) *Service {
	t.Helper()
	s, err := Open(context.Background(), store, opt)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	return s
}

// alice is a registration that keeps every rule.
func alice() Registration {
	return Registration{
		Namespace: 1, Email: "Alice@Example.com", Nick: "Alice", UniqueNick: "AliceU", Password: "rosebud", From: home(),
	}
}

func register(t testing.TB, s *Service, r Registration) storage.Profile {
	t.Helper()
	p, err := s.Users.Register(context.Background(), r)
	if err != nil {
		t.Fatalf("Register(%s, %s, %s) = %v", r.Email, r.Nick, r.UniqueNick, err)
	}
	return p
}

// prove returns the proof of a client that knows the password. p.User or
// p.UniqueNick is set.
func prove(p Proof, password string) Proof {
	p.ClientChallenge, p.ServerChallenge = "clientclientclientclientclientcl", "QWERTYUIOP"
	if !p.From.IsValid() {
		p.From = home()
	}
	p.Response = respond(secretOf(password), withPartner(p.Partner, p.UniqueNick+p.User), p.ClientChallenge, p.ServerChallenge)
	return p
}

// byNick is the proof of a unique nick in namespace 1.
func byNick(nick, password string) Proof {
	return prove(Proof{UniqueNick: nick, Namespace: 1}, password)
}

// wantRefusal checks that err is a refusal.
func wantRefusal(t testing.TB, what string, err error, want Refusal) {
	t.Helper()
	if got, ok := errors.AsType[Refusal](err); !ok || got != want {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// wantLogin checks that a proof is accepted.
func wantLogin(t testing.TB, s *Service, what string, p Proof) Login {
	t.Helper()
	l, err := s.SignIn.CheckProof(context.Background(), p)
	if err != nil {
		t.Errorf("%s: CheckProof() = %v, want a login", what, err)
	}
	return l
}
