package accounts

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/storage"
)

// Failed logins that are forgiven within FailureWindow.
const (
	MaxFailures        = 10               // MaxFailures is the limit per account and address together.
	MaxAddressFailures = 200              // MaxAddressFailures is the limit per address.
	MaxAccountFailures = 100              // MaxAccountFailures is the limit per account above which strangers have to wait.
	FailureWindow      = 10 * time.Minute // FailureWindow is the time after which all are forgotten.
)

const (
	// guessPause is the time between the attempts at an account that has
	// MaxAccountFailures, from addresses that never signed in to it.
	guessPause = time.Second
	// failureSlots bounds the addresses, accounts and pairs of both that are
	// remembered.
	failureSlots = 1 << 14
)

// failures count failed logins. The failures of an account alone never refuse a
// login: a stranger cannot lock the owner out at home. An address is an IPv4
// address or the /64 of an IPv6 address. The zero address stands for the
// operator, who is never refused.
type failures struct {
	addresses *netserve.Buckets[netip.Addr]
	pairs     *netserve.Buckets[pair]
	accounts  *netserve.Buckets[storage.UserID]
	attempts  *netserve.Buckets[storage.UserID] // of strangers at accounts without a failure left

	// tell informs the other nodes; nil: there are none. It never waits.
	tell func(failure)
}

// pair is an account and an address that fails at it.
type pair struct {
	from netip.Addr
	user storage.UserID
}

func newFailures() *failures {
	return &failures{
		addresses: netserve.NewBuckets[netip.Addr](MaxAddressFailures, FailureWindow, failureSlots),
		pairs:     netserve.NewBuckets[pair](MaxFailures, FailureWindow, failureSlots),
		accounts:  netserve.NewBuckets[storage.UserID](MaxAccountFailures, FailureWindow, failureSlots),
		attempts:  netserve.NewBuckets[storage.UserID](1, guessPause, failureSlots),
	}
}

// source returns the address or IPv6 /64 under which failures of a are counted.
func source(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64) // 64 fits
		return p.Addr()
	}
	return a
}

// refuses reports whether from has failed too often, in total or, unless user
// is 0, with that user.
func (f *failures) refuses(from netip.Addr, user storage.UserID, now time.Time) bool {
	from = source(from)
	return from.IsValid() &&
		(f.addresses.Empty(from, now) || user != 0 && f.pairs.Empty(pair{from, user}, now))
}

// failed counts a failure of from, and of from with user unless that is 0.
func (f *failures) failed(from netip.Addr, user storage.UserID, now time.Time) {
	f.note(failure{failedLogin, source(from), user}, now)
}

// succeeded forgets the failures of from with user. Those of the address stay;
// otherwise one known password would allow guessing many others.
func (f *failures) succeeded(from netip.Addr, user storage.UserID) {
	f.note(failure{succeededLogin, source(from), user}, time.Time{})
}

// note counts a failure on all nodes, but for the operator, and returns what count
// does.
func (f *failures) note(v failure, now time.Time) bool {
	if v.what <= succeededLogin && !v.from.IsValid() {
		return false
	}
	ok := f.count(v, now)
	if f.tell != nil && (ok || v.what != attempted) {
		f.tell(v)
	}
	return ok
}

// count counts a failure of this node or of another. It returns whether a wrong password
// was the last that is forgiven, and whether an attempt is allowed.
func (f *failures) count(v failure, now time.Time) bool {
	switch v.what {
	case failedLogin:
		f.addresses.Spend(v.from, now)
		if v.user != 0 {
			f.pairs.Spend(pair{v.from, v.user}, now)
		}
	case succeededLogin:
		f.pairs.Fill(pair{v.from, v.user})
	case wrongPassword:
		return f.accounts.Spend(v.user, now)
	case attempted:
		return f.attempts.Take(v.user, now)
	}
	return false
}

// failure is the message of a node to the others about a login:
//
//	offset size
//	     0    1  version, 1
//	     1    1  kind of failure
//	     2    4  user, big-endian; 0: unknown
//	     6    -  address in 4 or 16 bytes, or nothing
type failure struct {
	what what
	from netip.Addr // source of it
	user storage.UserID
}

// Results of a login.
type what uint8

const (
	failedLogin    what = iota + 1
	succeededLogin      // with that user from that address
	wrongPassword       // of that user, from any address
	attempted           // by a stranger at a guarded account
)

const failureVersion = 1

func (f failure) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(append(b, failureVersion, byte(f.what)), uint32(f.user))
	return append(b, f.from.AsSlice()...)
}

var errFailure = errors.New("malformed failure of a node")

func parseFailure(b []byte) (f failure, err error) {
	const fixed = 6
	if len(b) < fixed || b[0] != failureVersion || what(b[1]) < failedLogin || what(b[1]) > attempted {
		return f, errFailure
	}
	f = failure{what: what(b[1]), user: storage.UserID(binary.BigEndian.Uint32(b[2:fixed]))}
	if b = b[fixed:]; len(b) > 0 {
		from, ok := netip.AddrFromSlice(b)
		if !ok {
			return failure{}, errFailure
		}
		f.from = source(from)
	}
	if f.user > storage.MaxAccountID || f.from.IsValid() != (f.what == failedLogin || f.what == succeededLogin) {
		return failure{}, errFailure
	}
	return f, nil
}
