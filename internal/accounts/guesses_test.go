package accounts

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// stranger returns one of many addresses.
func stranger(i int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}) }

// TestGuessingFromManyAddresses has an account whose password is guessed from
// ever more addresses, while its owner is at home and somewhere new.
func TestGuessingFromManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		register(t, s, alice())
		wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))
		bob := alice()
		bob.Email, bob.UniqueNick = "bob@example.com", "BobU"
		register(t, s, bob)

		tried := 0
		guess := func() (looked bool) {
			t.Helper()
			tried++
			p := byNick("AliceU", "guess")
			p.From = stranger(tried)
			_, err := s.CheckProof(t.Context(), p)
			if !errors.Is(err, ErrThrottled) {
				wantRefusal(t, "a guess", err, ErrBadPassword)
			}
			return !errors.Is(err, ErrThrottled)
		}
		for n := range DefaultAccountFailures {
			if !guess() {
				t.Fatalf("guess %d was refused, want %d looked at", n+1, DefaultAccountFailures)
			}
		}
		looked := 0
		for range 600 { // a minute, ten per second
			if guess() {
				looked++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if looked != 60 {
			t.Errorf("%d guesses of 600 in a minute were looked at, want 60", looked)
		}
		guess() // takes the attempt of this second
		right := Credentials{Email: "alice@example.com", Password: "rosebud", From: elsewhere()}
		_, err := s.CheckPassword(t.Context(), right)
		wantRefusal(t, "the password itself from a new address", err, ErrThrottled)
		wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))
		other := byNick("BobU", "rosebud")
		other.From = elsewhere()
		wantLogin(t, s, "another account", other)
		right.From = netip.Addr{}
		if _, err := s.CheckPassword(t.Context(), right); err != nil {
			t.Errorf("the operator: %v", err)
		}

		time.Sleep(DefaultFailureWindow)
		right.From = elsewhere()
		if _, err := s.CheckPassword(t.Context(), right); err != nil {
			t.Errorf("the owner at a new address, later: %v", err)
		}
	})
}

// TestHomesSurviveARestart has an account whose password is guessed before and
// after a restart.
func TestHomesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, filepath.Join(dir, "store.db"))
	keys := Options{KeyFile: filepath.Join(dir, "account.key"), AccountFailures: 1}
	s := openOver(t, store, keys)
	p := register(t, s, alice())
	wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))
	s = openOver(t, store, keys)
	for i := range 2 {
		guess := byNick("AliceU", "guess")
		guess.From = stranger(i)
		_, err := s.CheckProof(t.Context(), guess)
		wantRefusal(t, "a guess", err, ErrBadPassword)
	}
	guess := byNick("AliceU", "rosebud")
	guess.From = elsewhere()
	_, err := s.CheckProof(t.Context(), guess)
	wantRefusal(t, "a stranger with the right password", err, ErrThrottled)
	wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))

	for i := range 2 * storage.MaxHomes { // the last ones count
		u, err := store.GetUser(t.Context(), p.User)
		if err != nil {
			t.Fatal(err)
		}
		s.right(t.Context(), stranger(i), &u)
	}
	u, err := store.GetUser(t.Context(), p.User)
	if err != nil || len(u.Homes) != storage.MaxHomes {
		t.Fatalf("%d homes, %v, want %d", len(u.Homes), err, storage.MaxHomes)
	}
	for i, want := range map[int]bool{0: false, storage.MaxHomes - 1: false, storage.MaxHomes: true, 2*storage.MaxHomes - 1: true} {
		if got := s.atHome(stranger(i), &u); got != want {
			t.Errorf("atHome of address %d = %v, want %v", i, got, want)
		}
	}
	if other := (storage.User{ID: u.ID + 1, Homes: u.Homes}); s.atHome(stranger(storage.MaxHomes), &other) {
		t.Error("the home of one account is one of another")
	}
}

func TestGuessesForgetTheLeastWhenFull(t *testing.T) {
	g, now := newGuesses(3, time.Hour), time.Now()
	for range 3 {
		g.failed(1, now)
	}
	for i := range 10 * rowLen { // of the same row, one each
		g.failed(storage.UserID(1+(i+1)*throttleRows), now)
	}
	if !g.full(1, now) {
		t.Error("single failures of others pushed a full count out")
	}
	for i, want := range []bool{true, false} {
		if got := g.attempt(1, now); got != want {
			t.Errorf("attempt %d of one instant = %v, want %v", i+1, got, want)
		}
	}
	filled := 0
	for range 5 {
		if g.failed(2, now) {
			filled++
		}
	}
	if filled != 1 {
		t.Errorf("five failures filled a bucket of three %d times, want once", filled)
	}
	if full := fmt.Sprint(g.full(2, now), g.full(3, now)); full != "true false" {
		t.Errorf("full() = %s, want true false", full)
	}
}
