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

func TestFailuresOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		register(t, s, alice())
		bob := alice()
		bob.Email, bob.UniqueNick = "bob@example.com", "BobU"
		register(t, s, bob)
		attack := byNick("AliceU", "guess")
		attack.From = elsewhere()
		for i := range MaxFailures + 3 {
			_, err := s.SignIn.CheckProof(t.Context(), attack)
			want := ErrBadPassword
			if i >= MaxFailures {
				want = ErrThrottled
			}
			wantRefusal(t, fmt.Sprint("guess ", i), err, want)
		}
		right := byNick("AliceU", "rosebud")
		right.From = elsewhere()
		_, err := s.SignIn.CheckProof(t.Context(), right)
		wantRefusal(t, "the right password after too many guesses", err, ErrThrottled)
		_, err = s.SignIn.CheckPassword(t.Context(), Credentials{Email: "alice@example.com", Password: "rosebud", From: elsewhere()})
		wantRefusal(t, "the password itself after too many guesses", err, ErrThrottled)
		wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))
		other := byNick("BobU", "rosebud")
		other.From = elsewhere()
		wantLogin(t, s, "another account there", other)

		time.Sleep(FailureWindow/MaxFailures - 1) // a tenth of the window expires one failure
		_, err = s.SignIn.CheckProof(t.Context(), right)
		wantRefusal(t, "just before one failure is forgotten", err, ErrThrottled)
		time.Sleep(time.Nanosecond)
		wantLogin(t, s, "when one failure is forgotten", right)
		for range MaxFailures { // a success has cleared the count
			_, err := s.SignIn.CheckProof(t.Context(), attack)
			wantRefusal(t, "a guess", err, ErrBadPassword)
		}
	})
}

func TestFailuresAtManyAccounts(t *testing.T) {
	s := open(t, Options{})
	register(t, s, alice())
	for i := range MaxAddressFailures {
		p := byNick(fmt.Sprint("Unknown", i), "x")
		p.From = elsewhere()
		_, err := s.SignIn.CheckProof(t.Context(), p)
		wantRefusal(t, "an unknown account", err, ErrBadUniqueNick)
	}
	right := byNick("AliceU", "rosebud")
	right.From = elsewhere()
	_, err := s.SignIn.CheckProof(t.Context(), right)
	wantRefusal(t, "the address", err, ErrThrottled)
	wantLogin(t, s, "another address", byNick("AliceU", "rosebud"))
	right.From = netip.Addr{}
	wantLogin(t, s, "the operator", right)
}

func TestFailuresOfAnIPv6Network(t *testing.T) {
	th := newFailures()
	now := time.Now()
	for i := range MaxFailures {
		th.failed(netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i)), 1, now)
	}
	for addr, want := range map[string]bool{
		"2001:db8::ffff": true, "2001:db8::1%eth0": true, "2001:db8:0:1::1": false, "192.0.2.1": false,
	} {
		if got := th.refuses(netip.MustParseAddr(addr), 1, now); got != want {
			t.Errorf("refuses(%s) = %v, want %v", addr, got, want)
		}
	}
	for range MaxFailures {
		th.failed(home(), 1, now)
	}
	if mapped := netip.AddrFrom16(home().As16()); !th.refuses(mapped, 1, now) {
		t.Errorf("refuses(%v) = false, want the count of %v", mapped, home())
	}
}

// stranger returns one of many addresses.
func stranger(i int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}) }

// TestGuessingFromManyAddresses guesses the password of an account from ever
// more addresses, while its owner signs in from home and from a new address.
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
			_, err := s.SignIn.CheckProof(t.Context(), p)
			if !errors.Is(err, ErrThrottled) {
				wantRefusal(t, "a guess", err, ErrBadPassword)
			}
			return !errors.Is(err, ErrThrottled)
		}
		for n := range MaxAccountFailures {
			if !guess() {
				t.Fatalf("guess %d was refused, want %d looked at", n+1, MaxAccountFailures)
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
		_, err := s.SignIn.CheckPassword(t.Context(), right)
		wantRefusal(t, "the password itself from a new address", err, ErrThrottled)
		wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))
		other := byNick("BobU", "rosebud")
		other.From = elsewhere()
		wantLogin(t, s, "another account", other)
		right.From = netip.Addr{}
		if _, err := s.SignIn.CheckPassword(t.Context(), right); err != nil {
			t.Errorf("the operator: %v", err)
		}

		time.Sleep(FailureWindow)
		right.From = elsewhere()
		if _, err := s.SignIn.CheckPassword(t.Context(), right); err != nil {
			t.Errorf("the owner at a new address, later: %v", err)
		}
	})
}

// TestHomesSurviveARestart guesses the password of an account before and after
// a restart.
func TestHomesSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, filepath.Join(dir, "store.db"))
	keys := Options{KeyFile: filepath.Join(dir, "account.key")}
	s := openOver(t, store, keys)
	p := register(t, s, alice())
	wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))
	s = openOver(t, store, keys)
	for i := range MaxAccountFailures + 1 {
		guess := byNick("AliceU", "guess")
		guess.From = stranger(i)
		_, err := s.SignIn.CheckProof(t.Context(), guess)
		wantRefusal(t, "a guess", err, ErrBadPassword)
	}
	guess := byNick("AliceU", "rosebud")
	guess.From = elsewhere()
	_, err := s.SignIn.CheckProof(t.Context(), guess)
	wantRefusal(t, "a stranger with the right password", err, ErrThrottled)
	wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))

	for i := range 2 * storage.MaxHomes { // the last ones count
		u, err := store.GetUser(t.Context(), p.User)
		if err != nil {
			t.Fatal(err)
		}
		s.guard.right(t.Context(), stranger(i), &u)
	}
	u, err := store.GetUser(t.Context(), p.User)
	if err != nil || len(u.Homes) != storage.MaxHomes {
		t.Fatalf("%d homes, %v, want %d", len(u.Homes), err, storage.MaxHomes)
	}
	for i, want := range map[int]bool{0: false, storage.MaxHomes - 1: false, storage.MaxHomes: true, 2*storage.MaxHomes - 1: true} {
		if got := s.SignIn.AtHome(stranger(i), &u); got != want {
			t.Errorf("AtHome of address %d = %v, want %v", i, got, want)
		}
	}
	if other := (storage.User{ID: u.ID + 1, Homes: u.Homes}); s.SignIn.AtHome(stranger(storage.MaxHomes), &other) {
		t.Error("the home of one account is one of another")
	}
}
