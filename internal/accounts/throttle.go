package accounts

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Failed logins that are forgiven in one window.
const (
	DefaultFailures        = 10               // DefaultFailures is how many fit one account and one address.
	DefaultAddressFailures = 200              // DefaultAddressFailures is how many fit one address.
	DefaultFailureWindow   = 10 * time.Minute // DefaultFailureWindow is how long it takes to forget them all.
)

// A throttle counts failures. It never counts by account alone: nobody can
// lock the owner out from somewhere else. Its memory is fixed; when a row of
// the table is full, the count that is nearest to nothing makes room.
//
// An address is an IPv4 address or the /64 of an IPv6 address. The zero address
// stands for the operator and is never refused.
type throttle struct {
	account, address float64 // limits
	window           time.Duration
	seed             maphash.Seed

	mu   sync.Mutex // guards the field below
	rows [][rowLen]slot
}

// A throttle holds rows*rowLen counts.
const (
	throttleRows = 2048
	rowLen       = 8
)

// slot is a bucket that fills with failures and leaks.
type slot struct {
	key   uint64
	level float64
	at    time.Time // when level was right
}

func newThrottle(account, address int, window time.Duration) *throttle {
	return &throttle{
		account: float64(account), address: float64(address), window: window,
		seed: maphash.MakeSeed(), rows: make([][rowLen]slot, throttleRows),
	}
}

// source is what of an address is counted.
func source(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64) // 64 fits
		return p.Addr()
	}
	return a
}

// key returns the key of an account at an address, or with user 0 that of the
// address.
func (t *throttle) key(from netip.Addr, user storage.UserID) uint64 {
	return maphash.Comparable(t.seed, struct {
		from netip.Addr
		user storage.UserID
	}{source(from), user})
}

// refuses reports whether from has failed too often, at all or with user.
func (t *throttle) refuses(from netip.Addr, user storage.UserID, now time.Time) bool {
	if !from.IsValid() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.level(t.key(from, 0), t.address, now)+1 > t.address {
		return true
	}
	return user != 0 && t.level(t.key(from, user), t.account, now)+1 > t.account
}

// failed counts a failure of from, and with user unless that is 0.
func (t *throttle) failed(from netip.Addr, user storage.UserID, now time.Time) {
	if !from.IsValid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(t.key(from, 0), t.address, now)
	if user != 0 {
		t.add(t.key(from, user), t.account, now)
	}
}

// succeeded forgets the failures of from with user. Those of the address stay,
// or one known password would pay for guessing many others.
func (t *throttle) succeeded(from netip.Addr, user storage.UserID) {
	if !from.IsValid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := t.key(from, user)
	row := t.row(key)
	for i := range row {
		if row[i].key == key {
			row[i] = slot{}
		}
	}
}

func (t *throttle) row(key uint64) *[rowLen]slot { return &t.rows[key%throttleRows] }

// leaked returns what is left of a slot at now, if limit leaks in a window.
func (t *throttle) leaked(s slot, limit float64, now time.Time) float64 {
	return max(0, s.level-limit*now.Sub(s.at).Seconds()/t.window.Seconds())
}

// level returns the present count under a key.
func (t *throttle) level(key uint64, limit float64, now time.Time) float64 {
	for _, s := range t.row(key) {
		if s.key == key {
			return t.leaked(s, limit, now)
		}
	}
	return 0
}

// add counts one under a key.
func (t *throttle) add(key uint64, limit float64, now time.Time) {
	row := t.row(key)
	place, least := 0, -1.0
	for i, s := range row {
		if s.key == key {
			row[i] = slot{key, min(t.leaked(s, limit, now)+1, limit), now}
			return
		}
		if left := t.leaked(s, limit, now); least < 0 || left < least {
			place, least = i, left
		}
	}
	row[place] = slot{key, 1, now}
}
