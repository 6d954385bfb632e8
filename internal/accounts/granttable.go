package accounts

import (
	"container/list"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/storage"
)

const (
	// maxGrantsEach bounds the valid tokens, and the valid tickets, of one
	// profile. Each login issues a ticket.
	maxGrantsEach = 16
	// grantTime is the time limit of a step with tokens and tickets.
	grantTime = 5 * time.Second
	// sweepGrants is the number of new tokens and tickets after which those that have
	// expired are removed.
	sweepGrants = 1024
)

// grantTable is the valid tokens or tickets. The errors may be those of a store.
type grantTable interface {
	// add makes value a valid grant.
	add(value string, v grant, now time.Time) error
	// find returns the grant of value, or ErrBadTicket or ErrExpiredTicket.
	find(value string, now time.Time) (grant, error)
	// use ends a grant that is valid once. The error is ErrBadTicket if another caller
	// was faster.
	use(value string) error
	// revoke ends all grants of a profile.
	revoke(profile storage.ProfileID) error
}

// A grant lets a client in as a profile.
type grant struct {
	profile   storage.ProfileID
	challenge string
	expires   time.Time
	once      bool
}

// grantMemory is the valid tokens or tickets, in memory only. When there are too
// many, in total or of one profile, the oldest is dropped. They are keyed by
// their digest, so that the time of a look-up reveals nothing about them.
type grantMemory struct {
	max int

	mu        sync.Mutex // guards the fields below
	all       map[[sha256.Size]byte]*list.Element
	ages      *list.List                            // of granted, oldest first
	byProfile map[storage.ProfileID][]*list.Element // of ages, oldest first
}

type granted struct {
	key [sha256.Size]byte
	grant
}

func newGrantMemory(most int) *grantMemory {
	return &grantMemory{max: most, all: make(map[[sha256.Size]byte]*list.Element), ages: list.New(), byProfile: make(map[storage.ProfileID][]*list.Element)}
}

// add implements grantTable.
func (g *grantMemory) add(value string, v grant, now time.Time) error {
	key := sha256.Sum256([]byte(value))
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.all[key]; e != nil {
		g.remove(e)
	}
	for e := g.ages.Front(); e != nil && (len(g.all) >= g.max || !now.Before(e.Value.(*granted).expires)); e = g.ages.Front() {
		g.remove(e)
	}
	if own := g.byProfile[v.profile]; len(own) >= maxGrantsEach {
		g.remove(own[0])
	}
	e := g.ages.PushBack(&granted{key, v})
	g.all[key] = e
	g.byProfile[v.profile] = append(g.byProfile[v.profile], e)
	return nil
}

func (g *grantMemory) remove(e *list.Element) {
	v := g.ages.Remove(e).(*granted)
	delete(g.all, v.key)
	own := g.byProfile[v.profile]
	if len(own) == 1 {
		delete(g.byProfile, v.profile)
		return
	}
	g.byProfile[v.profile] = slices.DeleteFunc(own, func(o *list.Element) bool { return o == e })
}

// find implements grantTable.
func (g *grantMemory) find(value string, now time.Time) (grant, error) {
	key := sha256.Sum256([]byte(value))
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.all[key]
	if e == nil {
		return grant{}, ErrBadTicket
	}
	v := e.Value.(*granted).grant
	if !now.Before(v.expires) {
		return grant{}, ErrExpiredTicket
	}
	return v, nil
}

// use implements grantTable.
func (g *grantMemory) use(value string) error {
	key := sha256.Sum256([]byte(value))
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.all[key]
	if e == nil {
		return ErrBadTicket
	}
	if e.Value.(*granted).once {
		g.remove(e)
	}
	return nil
}

// revoke implements grantTable.
func (g *grantMemory) revoke(profile storage.ProfileID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range slices.Clone(g.byProfile[profile]) {
		g.remove(e)
	}
	return nil
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
	if err == nil && !now.Before(v.expires) {
		return grant{}, ErrExpiredTicket
	}
	return v, refuse(err, storage.ErrNotFound, ErrBadTicket)
}

// use implements grantTable.
func (g *sharedGrants) use(value string) error {
	err := within(func(ctx context.Context) error { return g.store.UseGrant(ctx, g.kind, sha256.Sum256([]byte(value))) })
	return refuse(err, storage.ErrNotFound, ErrBadTicket)
}

// revoke implements grantTable. It ends the tokens and the tickets.
func (g *sharedGrants) revoke(profile storage.ProfileID) error {
	return within(func(ctx context.Context) error { return g.store.RevokeGrants(ctx, profile) })
}
