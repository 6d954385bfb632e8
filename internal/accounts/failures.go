package accounts

import (
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
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

	nodes cluster.Notes[failure] // without one of them a guesser has more attempts
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
	if v.What <= succeededLogin && !v.From.IsValid() {
		return false
	}
	ok := f.count(v, now)
	if ok || v.What != attempted {
		f.nodes.Tell(v)
	}
	return ok
}

// count counts a failure of this node or of another. It returns whether a wrong password
// was the last that is forgiven, and whether an attempt is allowed.
func (f *failures) count(v failure, now time.Time) bool {
	switch v.What {
	case failedLogin:
		f.addresses.Spend(v.From, now)
		if v.User != 0 {
			f.pairs.Spend(pair{v.From, v.User}, now)
		}
	case succeededLogin:
		f.pairs.Fill(pair{v.From, v.User})
	case wrongPassword:
		return f.accounts.Spend(v.User, now)
	case attempted:
		return f.attempts.Take(v.User, now)
	}
	return false
}

// failure is a note of a node to the others about a login.
type failure struct {
	What what
	From netip.Addr     // source of it; the zero value: it does not matter
	User storage.UserID // 0: unknown
}

// Results of a login.
type what uint8

const (
	failedLogin    what = iota + 1
	succeededLogin      // with that user from that address
	wrongPassword       // of that user, from any address
	attempted           // by a stranger at a guarded account
)

// valid reports whether another node may say f.
func (f failure) valid() bool {
	return f.What >= failedLogin && f.What <= attempted && f.User <= storage.MaxAccountID &&
		f.From.IsValid() == (f.What == failedLogin || f.What == succeededLogin)
}
