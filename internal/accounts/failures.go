package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
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
	from = source(from)
	if !from.IsValid() {
		return
	}
	f.count(failure{failedLogin, from, user}, now)
	f.share(failure{failedLogin, from, user})
}

// succeeded forgets the failures of from with user. Those of the address stay;
// otherwise one known password would allow guessing many others.
func (f *failures) succeeded(from netip.Addr, user storage.UserID) {
	f.count(failure{succeededLogin, source(from), user}, time.Time{})
	f.share(failure{succeededLogin, source(from), user})
}

// admits reports whether a password for an account may be checked.
func (s *Service) admits(from netip.Addr, u *storage.User, now time.Time) bool {
	if s.failures.refuses(from, u.ID, now) {
		return false
	}
	if !from.IsValid() || !s.failures.accounts.Empty(u.ID, now) || s.AtHome(from, u) {
		return true
	}
	if s.failures.attempts.Take(u.ID, now) {
		s.failures.share(failure{attempted, netip.Addr{}, u.ID})
		return true
	}
	s.metrics.guarded.Inc()
	return false
}

// wrong counts a wrong password.
func (s *Service) wrong(from netip.Addr, user storage.UserID, now time.Time) {
	if !from.IsValid() {
		return
	}
	s.failures.failed(from, user, now)
	s.failures.share(failure{wrongPassword, netip.Addr{}, user})
	if s.failures.accounts.Spend(user, now) {
		if untold, tell := s.guessing.Tell(now); tell {
			s.log.Warn().Uint32("user", uint32(user)).Int("untold", untold).
				Msg("the password of an account is being guessed: addresses that never signed in to it have one attempt per second")
		}
	}
}

// right forgets the failures of an address with an account and remembers that it
// signed in.
func (s *Service) right(ctx context.Context, from netip.Addr, u *storage.User) {
	if !from.IsValid() {
		return
	}
	s.failures.succeeded(from, u.ID)
	if s.AtHome(from, u) {
		return
	}
	mark := s.homeMark(from, u.ID)
	err := s.editUser(storage.WithoutAudit(ctx), u.ID, func(u *storage.User) error {
		if slices.Contains(u.Homes, mark) {
			return errUnchanged
		}
		u.Homes = append(u.Homes, mark)
		u.Homes = u.Homes[max(0, len(u.Homes)-storage.MaxHomes):]
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	if untold, tell := s.homeless.Tell(time.Now()); tell {
		s.log.Error().Err(err).Uint32("user", uint32(u.ID)).Int("untold", untold).Msg("the address of a sign-in was not stored")
	}
}

// AtHome reports whether an address, or its IPv6 /64, has signed in to an account
// before. The last storage.MaxHomes count.
func (s *Service) AtHome(from netip.Addr, u *storage.User) bool {
	return slices.Contains(u.Homes, s.homeMark(from, u.ID))
}

// homeMark returns the mark that stands for an address in the record of an
// account. It reveals nothing about the address without the key file.
func (s *Service) homeMark(from netip.Addr, user storage.UserID) uint64 {
	mac := hmac.New(sha256.New, s.keys.Load().file.Digest)
	mac.Write([]byte("home\x00"))
	mac.Write(binary.BigEndian.AppendUint32(nil, uint32(user)))
	a := source(from).As16()
	mac.Write(a[:])
	return binary.BigEndian.Uint64(mac.Sum(nil))
}
