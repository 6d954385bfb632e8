package accounts

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
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
)

// Grants are the tokens and tickets with which players sign in without a password.
type Grants struct {
	tokens, tickets grantTable
	ungranted       netserve.Trouble // of the log
	log             zerolog.Logger
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
func (g *Grants) IssueToken(profile storage.ProfileID, life time.Duration, once bool) Token {
	if life <= 0 {
		life = DefaultTokenLife
	}
	now := time.Now()
	t := Token{Value: randomText(), Challenge: randomText(), Profile: profile, Expires: now.Add(min(life, MaxTokenLife))}
	g.note(g.tokens.add(t.Value, grant{profile, t.Challenge, t.Expires, once}, now))
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
func (g *Grants) IssueTicket(profile storage.ProfileID) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ticket := strings.NewReplacer("+", "[", "/", "]", "=", "_").Replace(base64.StdEncoding.EncodeToString(b[:]))
	now := time.Now()
	g.note(g.tickets.add(ticket, grant{profile: profile, expires: now.Add(TicketLife), once: true}, now))
	return ticket
}

// CheckTicket returns the profile that a login ticket was issued for. Refusals:
// ErrBadTicket, ErrExpiredTicket. In a cluster it reads the store.
func (g *Grants) CheckTicket(ticket string) (storage.ProfileID, error) {
	v, err := g.tickets.find(ticket, time.Now())
	return v.profile, err
}

// note logs that the store did not take a change of tokens and tickets.
func (g *Grants) note(err error) {
	if err == nil {
		return
	}
	g.ungranted.Line(g.log.Error()).Err(err).Msg("login tickets were not stored or not revoked")
}

// Revoke ends all tokens and tickets of a profile.
func (g *Grants) Revoke(profile storage.ProfileID) {
	g.note(g.tokens.revoke(profile))
	g.note(g.tickets.revoke(profile))
}

// Consoles of Nintendo know their tokens by the first letters, and have room for short
// challenges.
const (
	consoleToken     = "NDS"
	consoleChallenge = 8 // letters and digits
)

// IssueConsoleToken is IssueToken in the form that consoles of Nintendo expect, valid for
// DefaultTokenLife and for any number of sign-ins. The error is that of the store.
func (g *Grants) IssueConsoleToken(profile storage.ProfileID) (Token, error) {
	now := time.Now()
	t := Token{Value: consoleToken + randomText(), Challenge: rand.Text()[:consoleChallenge], Profile: profile, Expires: now.Add(DefaultTokenLife)}
	return t, g.tokens.add(t.Value, grant{profile: profile, challenge: t.Challenge, expires: t.Expires}, now)
}
