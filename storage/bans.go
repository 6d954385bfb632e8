package storage

import (
	"cmp"
	"context"
	"iter"
	"net/netip"
	"time"
)

// Limits of a Ban.
const (
	MaxBanReason = 1024 // MaxBanReason is the longest reason in bytes.
	MaxBanBy     = 128  // MaxBanBy is the longest author in bytes.
)

// Scope is the set of services from which a ban excludes an address. The
// numbers are part of stored keys and never change.
type Scope uint8

// The scopes.
const (
	EveryScope     Scope = 0 // EveryScope is not a scope of a ban: for RemoveBan it means all scopes.
	ScopeAll       Scope = 1 // ScopeAll is every service.
	ScopeLists     Scope = 2 // ScopeLists is being listed and requesting lists.
	ScopePresence  Scope = 3 // ScopePresence is accounts, sign-in and chat.
	ScopeZandronum Scope = 4 // ScopeZandronum is the ban list that Zandronum servers receive.
)

// Scopes returns the scopes that a ban can have.
func Scopes() []Scope {
	return []Scope{ScopeAll, ScopeLists, ScopePresence, ScopeZandronum}
}

// String returns the word for s.
func (s Scope) String() string {
	return wordOf(s, "scope", "every", "all", "lists", "presence", "zandronum")
}

// ParseScope is the inverse of Scope.String for the scopes that a ban can have.
// The error names the allowed words and matches ErrInvalid.
func ParseScope(word string) (Scope, error) { return parseWord("ban scope", word, Scopes()) }

// MarshalText returns the word for s.
func (s Scope) MarshalText() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return []byte(s.String()), nil
}

// UnmarshalText is ParseScope.
func (s *Scope) UnmarshalText(text []byte) (err error) {
	*s, err = ParseScope(string(text))
	return err
}

// check returns an error unless s is a scope of a ban.
func (s Scope) check() error {
	_, err := ParseScope(s.String())
	return err
}

// Ban is a ban of a range of addresses. The pair of Prefix and Scope is its
// key.
type Ban struct {
	Prefix  netip.Prefix `json:"prefix"` // as CanonicalPrefix makes it
	Scope   Scope        `json:"scope"`
	Reason  string       `json:"reason,omitzero"`
	By      string       `json:"by,omitzero"` // author of the ban
	Added   time.Time    `json:"added,omitzero"`
	Expires time.Time    `json:"expires,omitzero"` // zero: never
}

// Expired reports whether the ban has expired at now, which is so from the
// instant Expires on.
func (b *Ban) Expired(now time.Time) bool {
	return !b.Expires.IsZero() && !now.Before(b.Expires)
}

// Check returns an error, which matches ErrInvalid, if b exceeds a limit. The
// prefix need not be in canonical form.
func (b *Ban) Check() error {
	if _, err := CanonicalPrefix(b.Prefix); err != nil {
		return err
	}
	return cmp.Or(b.Scope.check(), checkText("ban reason", b.Reason, MaxBanReason), checkText("ban author", b.By, MaxBanBy))
}

// Canonical returns b as it is stored: checked, with its prefix in canonical
// form, see CanonicalPrefix and its times in UTC. The error matches ErrInvalid.
func (b Ban) Canonical() (Ban, error) {
	if err := b.Check(); err != nil {
		return Ban{}, err
	}
	b.Prefix, _ = CanonicalPrefix(b.Prefix) // Check had no error
	b.Added, b.Expires = b.Added.Round(0).UTC(), b.Expires.Round(0).UTC()
	return b, nil
}

// CanonicalPrefix returns the one form in which a prefix is a key: masked, and
// IPv4-mapped addresses as IPv4. The error matches ErrInvalid: p is not valid,
// or it is a mapped prefix that is wider than IPv4.
func CanonicalPrefix(p netip.Prefix) (netip.Prefix, error) {
	const mapped = 96 // bits before the IPv4 part of a mapped address
	switch {
	case !p.IsValid():
		return netip.Prefix{}, invalid("ban has no address")
	case !p.Addr().Is4In6():
		return p.Masked(), nil
	case p.Bits() < mapped:
		return netip.Prefix{}, invalid("ban %v is wider than IPv4", p)
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped).Masked(), nil
}

// Bans keeps the bans.
type Bans interface {
	// AddBan stores b with its prefix in canonical form, replacing one with the
	// same prefix and scope.
	AddBan(ctx context.Context, b Ban) error

	// RemoveBan removes the ban of exactly that prefix and scope, or with
	// EveryScope all bans of exactly that prefix, and returns how many there
	// were. It is not an error if there was none.
	RemoveBan(ctx context.Context, prefix netip.Prefix, scope Scope) (n int, err error)

	// Bans yields all bans, expired ones too: IPv4 first, then by address,
	// length and scope.
	Bans(ctx context.Context) iter.Seq2[Ban, error]

	// SweepBans removes the bans that have expired at now and returns how many
	// there were. Damaged bans are not removed.
	SweepBans(ctx context.Context, now time.Time) (n int, err error)
}
