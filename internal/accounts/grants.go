package accounts

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

const (
	// TicketLife is how long a login ticket is valid.
	TicketLife = 48 * time.Hour
	// TicketLen is the length of a login ticket, the most that clients have
	// room for.
	TicketLen = 24
	// DefaultTokenLife is how long an auth token is valid unless stated
	// otherwise.
	DefaultTokenLife = 10 * time.Minute
	// MaxTokenLife is the longest that an auth token can be valid.
	MaxTokenLife = 48 * time.Hour

	maxTokens  = 100_000
	maxTickets = 200_000
	// maxGrantsEach bounds the valid tokens, and the valid tickets, of one
	// profile. Each login issues a ticket.
	maxGrantsEach = 16
)

// grantTable is the valid tokens or tickets. The errors may be those of a store.
type grantTable interface {
	// add makes value a valid grant.
	add(value string, v grant, now time.Time) error
	// find returns the grant of value, or errNoGrant or errGrantExpired.
	find(value string, now time.Time) (grant, error)
	// use ends a grant that is valid once. The error is errNoGrant if another caller
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

// grants are the valid tokens or tickets, in memory only. When there are too
// many, in total or of one profile, the oldest is dropped. They are keyed by
// their digest, so that the time of a look-up reveals nothing about them.
type grants struct {
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

func newGrants(most int) *grants {
	return &grants{max: most, all: make(map[[sha256.Size]byte]*list.Element), ages: list.New(), byProfile: make(map[storage.ProfileID][]*list.Element)}
}

// add implements grantTable.
func (g *grants) add(value string, v grant, now time.Time) error {
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

func (g *grants) remove(e *list.Element) {
	v := g.ages.Remove(e).(*granted)
	delete(g.all, v.key)
	own := g.byProfile[v.profile]
	if len(own) == 1 {
		delete(g.byProfile, v.profile)
		return
	}
	g.byProfile[v.profile] = slices.DeleteFunc(own, func(o *list.Element) bool { return o == e })
}

// The errors of find.
var (
	errNoGrant      = errors.New("no such grant")
	errGrantExpired = errors.New("grant expired")
)

// find implements grantTable.
func (g *grants) find(value string, now time.Time) (grant, error) {
	key := sha256.Sum256([]byte(value))
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.all[key]
	if e == nil {
		return grant{}, errNoGrant
	}
	v := e.Value.(*granted).grant
	if !now.Before(v.expires) {
		return grant{}, errGrantExpired
	}
	return v, nil
}

// use implements grantTable.
func (g *grants) use(value string) error {
	key := sha256.Sum256([]byte(value))
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.all[key]
	if e == nil {
		return errNoGrant
	}
	if e.Value.(*granted).once {
		g.remove(e)
	}
	return nil
}

// revoke implements grantTable.
func (g *grants) revoke(profile storage.ProfileID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range slices.Clone(g.byProfile[profile]) {
		g.remove(e)
	}
	return nil
}

// Token lets a client log in that another service has authenticated: its holder
// logs in as Profile without a password and proves that it also knows the
// Challenge.
type Token struct {
	Value     string
	Challenge string
	Profile   storage.ProfileID
	Expires   time.Time
}

// IssueToken returns a new auth token for a profile. A life of 0 means
// DefaultTokenLife; more than MaxTokenLife is cut. With once the first login
// uses it up. It is for services of this daemon that have authenticated the
// client. Tokens do not survive a restart, except in a cluster. If they cannot be
// stored there, the token is not valid.
func (s *Service) IssueToken(profile storage.ProfileID, life time.Duration, once bool) Token {
	if life <= 0 {
		life = DefaultTokenLife
	}
	now := time.Now()
	t := Token{Value: randomText(), Challenge: randomText(), Profile: profile, Expires: now.Add(min(life, MaxTokenLife))}
	s.noteGrant(s.tokens.add(t.Value, grant{profile, t.Challenge, t.Expires, once}, now))
	return t
}

// randomText returns 24 random bytes in a form that needs no escapes.
func randomText() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// IssueTicket returns a new login ticket for a profile: TicketLen characters
// that need no escapes. One login uses it up; CheckTicket does not. Tickets do
// not survive a restart, except in a cluster. If they cannot be stored there, the
// ticket is not valid.
func (s *Service) IssueTicket(profile storage.ProfileID) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ticket := strings.NewReplacer("+", "[", "/", "]", "=", "_").Replace(base64.StdEncoding.EncodeToString(b[:]))
	now := time.Now()
	s.noteGrant(s.tickets.add(ticket, grant{profile: profile, expires: now.Add(TicketLife), once: true}, now))
	return ticket
}

// CheckTicket returns the profile that a login ticket was issued for. Refusals:
// ErrBadTicket, ErrExpiredTicket. In a cluster it reads the store.
func (s *Service) CheckTicket(ticket string) (storage.ProfileID, error) {
	g, err := s.tickets.find(ticket, time.Now())
	return g.profile, refuseTicket(err)
}

// refuseTicket turns an error of find into a refusal.
func refuseTicket(err error) error {
	switch {
	case errors.Is(err, errNoGrant):
		return ErrBadTicket
	case errors.Is(err, errGrantExpired):
		return ErrExpiredTicket
	}
	return err
}

// noteGrant logs that the store did not take a change of tokens and tickets.
func (s *Service) noteGrant(err error) {
	if err == nil {
		return
	}
	if untold, tell := s.ungranted.Tell(time.Now()); tell {
		s.log.Error().Err(err).Int("untold", untold).Msg("login tickets were not stored or not revoked")
	}
}

// RevokeGrants ends all tokens and tickets of a profile.
func (s *Service) RevokeGrants(profile storage.ProfileID) {
	s.noteGrant(s.tokens.revoke(profile))
	s.noteGrant(s.tickets.revoke(profile))
}

// NewSignature returns a signature for a buddy request or a profile:
// storage.SignatureLen random hex digits. Random digits are enough, because the
// store keeps the signature with the request and compares it.
func NewSignature() string {
	var b [storage.SignatureLen / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
