package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/storage"
)

const (
	// subjectFailures is the subject of failures between nodes.
	subjectFailures = "accounts.failures"
	// grantTime is the time limit of a step with tokens and tickets.
	grantTime = 5 * time.Second
	// sweepGrants is the number of new tokens and tickets after which those that have
	// expired are removed.
	sweepGrants = 1024
)

// Share makes the service one of several that have the same store: tokens and tickets
// are those of all nodes, and so are failed logins and quotas. It is called before the
// services begin, and cancel after they have ended.
func (s *Service) Share(grants storage.Grants, bus cluster.Bus) (cancel func()) {
	s.shared, s.bus = true, bus
	s.tokens = &sharedGrants{store: grants, kind: storage.GrantToken}
	s.tickets = &sharedGrants{store: grants, kind: storage.GrantTicket}
	s.failures.tell = func(f failure) {
		_ = bus.Publish(subjectFailures, f.appendTo(nil)) // without it a guesser has more attempts
	}
	s.cancels = append(s.cancels, bus.Subscribe(subjectFailures, func(_ string, b []byte) {
		if f, err := parseFailure(b); err == nil {
			s.failures.count(f, time.Now())
		}
	}))
	return func() {
		s.quotas.Lock()
		defer s.quotas.Unlock()
		for _, cancel := range s.cancels {
			cancel()
		}
		s.cancels = nil
	}
}

// sharedGrants is the tokens or tickets of all nodes of a cluster.
type sharedGrants struct {
	store storage.Grants
	kind  storage.GrantKind
	added atomic.Uint32
}

// within runs f with the time limit of a step.
func within(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), grantTime)
	defer cancel()
	return f(ctx)
}

// add implements grantTable.
func (g *sharedGrants) add(value string, v grant, now time.Time) error {
	return within(func(ctx context.Context) error {
		err := g.store.AddGrant(ctx, storage.Grant{
			Kind: g.kind, Digest: sha256.Sum256([]byte(value)), Profile: v.profile, Challenge: v.challenge, Expires: v.expires, Once: v.once,
		}, maxGrantsEach)
		if err == nil && g.added.Add(1)%sweepGrants == 0 {
			_, err = g.store.SweepGrants(ctx, now.Add(-TicketLife)) // clocks of nodes differ
		}
		return err
	})
}

// find implements grantTable.
func (g *sharedGrants) find(value string, now time.Time) (v grant, err error) {
	err = within(func(ctx context.Context) error {
		got, err := g.store.FindGrant(ctx, g.kind, sha256.Sum256([]byte(value)))
		v = grant{profile: got.Profile, challenge: got.Challenge, expires: got.Expires, once: got.Once}
		return err
	})
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return grant{}, errNoGrant
	case err == nil && !now.Before(v.expires):
		return grant{}, errGrantExpired
	}
	return v, err
}

// use implements grantTable.
func (g *sharedGrants) use(value string) error {
	err := within(func(ctx context.Context) error { return g.store.UseGrant(ctx, g.kind, sha256.Sum256([]byte(value))) })
	if errors.Is(err, storage.ErrNotFound) {
		return errNoGrant
	}
	return err
}

// revoke implements grantTable. It ends the tokens and the tickets.
func (g *sharedGrants) revoke(profile storage.ProfileID) error {
	return within(func(ctx context.Context) error { return g.store.RevokeGrants(ctx, profile) })
}

// missingGrant reports whether a token or ticket is not valid, rather than not found
// because of a fault.
func missingGrant(err error) bool {
	return errors.Is(err, errNoGrant) || errors.Is(err, errGrantExpired)
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

// share informs the other nodes.
func (f *failures) share(what failure) {
	if f.tell != nil && (what.from.IsValid() || what.what > succeededLogin) {
		f.tell(what)
	}
}

// count counts a failure of this node or of another.
func (f *failures) count(v failure, now time.Time) {
	switch v.what {
	case failedLogin:
		f.addresses.Spend(v.from, now)
		if v.user != 0 {
			f.pairs.Spend(pair{v.from, v.user}, now)
		}
	case succeededLogin:
		f.pairs.Fill(pair{v.from, v.user})
	case wrongPassword:
		f.accounts.Spend(v.user, now)
	case attempted:
		f.attempts.Take(v.user, now)
	}
}
