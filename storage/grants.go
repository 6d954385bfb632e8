package storage

import (
	"context"
	"time"
)

// MaxChallenge is the longest challenge of a grant in bytes.
const MaxChallenge = 64

// GrantKind is the kind of a grant. The numbers are stored and never change.
type GrantKind uint8

// The kinds of grants.
const (
	GrantToken  GrantKind = 1 // GrantToken is an auth token.
	GrantTicket GrantKind = 2 // GrantTicket is a login ticket.
)

// Grant lets its holder in as a profile.
type Grant struct {
	Kind      GrantKind
	Digest    [32]byte // of the value that the holder has
	Profile   ProfileID
	Challenge string
	Expires   time.Time
	Once      bool // the first use ends it
}

// Check returns an error, which matches ErrInvalid, if g exceeds a limit.
func (g *Grant) Check() error {
	switch {
	case g.Kind != GrantToken && g.Kind != GrantTicket:
		return invalid("grant of kind %d", g.Kind)
	case g.Profile == 0 || g.Profile > MaxAccountID:
		return invalid("grant without profile, or with one over %d", MaxAccountID)
	}
	return checkText("challenge", g.Challenge, MaxChallenge)
}

// Grants keeps tokens that let clients in on every node of a cluster without a password.
// Like Sessions it is beside Store, and may lose everything when an engine crashes:
// players then sign in with their passwords.
type Grants interface {
	// AddGrant adds a grant. If the profile then has more than most of that kind, the
	// oldest are removed.
	AddGrant(ctx context.Context, g Grant, most int) error

	// FindGrant returns a grant, also an expired one, or ErrNotFound.
	FindGrant(ctx context.Context, kind GrantKind, digest [32]byte) (Grant, error)

	// UseGrant ends a grant that is valid once. The error is ErrNotFound if it is not
	// there: of several callers one gets nil.
	UseGrant(ctx context.Context, kind GrantKind, digest [32]byte) error

	// RevokeGrants removes all grants of a profile.
	RevokeGrants(ctx context.Context, id ProfileID) error

	// SweepGrants removes the grants that have expired at now and returns how many
	// there were.
	SweepGrants(ctx context.Context, now time.Time) (n int, err error)
}
