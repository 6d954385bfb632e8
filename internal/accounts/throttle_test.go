package accounts

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/storage"
)

func TestOwnerIsNotLockedOutFromAnotherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{Failures: 5, AddressFailures: 50, FailureWindow: 10 * time.Minute})
		register(t, s, alice())
		bob := alice()
		bob.Email, bob.UniqueNick = "bob@example.com", "BobU"
		register(t, s, bob)
		attack := byNick("AliceU", "guess")
		attack.From = elsewhere()
		for i := range 8 {
			_, err := s.CheckProof(t.Context(), attack)
			want := ErrBadPassword
			if i >= 5 {
				want = ErrThrottled
			}
			wantRefusal(t, fmt.Sprint("guess ", i), err, want)
		}
		right := byNick("AliceU", "rosebud")
		right.From = elsewhere()
		_, err := s.CheckProof(t.Context(), right)
		wantRefusal(t, "the right password after too many guesses", err, ErrThrottled)
		_, err = s.CheckPassword(t.Context(), Credentials{Email: "alice@example.com", Password: "rosebud", From: elsewhere()})
		wantRefusal(t, "the password itself after too many guesses", err, ErrThrottled)
		wantLogin(t, s, "the owner at home", byNick("AliceU", "rosebud"))
		other := byNick("BobU", "rosebud")
		other.From = elsewhere()
		wantLogin(t, s, "another account there", other)

		time.Sleep(2*time.Minute - 1) // a fifth of the window forgives one
		_, err = s.CheckProof(t.Context(), right)
		wantRefusal(t, "just before one failure is forgotten", err, ErrThrottled)
		time.Sleep(time.Nanosecond)
		wantLogin(t, s, "when one failure is forgotten", right)
		for range 5 { // a success has cleared the count
			_, err := s.CheckProof(t.Context(), attack)
			wantRefusal(t, "a guess", err, ErrBadPassword)
		}
	})
}

func TestAddressThatTriesManyAccountsIsThrottled(t *testing.T) {
	s := open(t, Options{Failures: 5, AddressFailures: 20, FailureWindow: time.Hour})
	register(t, s, alice())
	for i := range 20 {
		p := byNick(fmt.Sprint("Nobody", i), "x")
		p.From = elsewhere()
		_, err := s.CheckProof(t.Context(), p)
		wantRefusal(t, "an unknown account", err, ErrBadUniqueNick)
	}
	right := byNick("AliceU", "rosebud")
	right.From = elsewhere()
	_, err := s.CheckProof(t.Context(), right)
	wantRefusal(t, "the address", err, ErrThrottled)
	wantLogin(t, s, "another address", byNick("AliceU", "rosebud"))
	right.From = netip.Addr{}
	wantLogin(t, s, "the operator", right)
}

func TestThrottleCountsNetworksOfIPv6(t *testing.T) {
	th := newThrottle(2, 100, time.Hour)
	now := time.Now()
	for i := range 2 {
		th.failed(netip.MustParseAddr(fmt.Sprintf("2001:db8::%d", i)), 1, now)
	}
	for addr, want := range map[string]bool{
		"2001:db8::ffff": true, "2001:db8::1%eth0": true, "2001:db8:0:1::1": false, "192.0.2.1": false,
	} {
		if got := th.refuses(netip.MustParseAddr(addr), 1, now); got != want {
			t.Errorf("refuses(%s) = %v, want %v", addr, got, want)
		}
	}
	for range 2 {
		th.failed(home(), 1, now)
	}
	if mapped := netip.AddrFrom16(home().As16()); !th.refuses(mapped, 1, now) {
		t.Errorf("refuses(%v) = false, want the count of %v", mapped, home())
	}
}

func TestThrottleForgetsTheLeastWhenFull(t *testing.T) {
	th := newThrottle(5, 1<<20, time.Hour)
	now := time.Now()
	for range 5 {
		th.failed(home(), 1, now)
	}
	for i := range throttleRows * rowLen { // each of one failure
		th.add(uint64(i)*0x9e3779b97f4a7c15, 5, now)
	}
	if !th.refuses(home(), 1, now) {
		t.Error("single failures of others pushed a full count out")
	}
	if len(th.rows) != throttleRows {
		t.Errorf("%d rows, want %d", len(th.rows), throttleRows)
	}
	if th.refuses(home(), storage.UserID(2), now) {
		t.Error("another account is refused")
	}
}
