package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/respawnd/respawnd/storage"
)

const (
	// DefaultAccountFailures is how many failed logins fit one account in one
	// FailureWindow, from all addresses.
	DefaultAccountFailures = 100
	// guessPause is the time between the attempts at an account that has more,
	// from addresses that never signed in to it.
	guessPause = time.Second
)

// guesses count the wrong passwords of each account, from wherever they come.
// They bound only attempts from addresses that never signed in to the account,
// so no guesser can lock its owner out at home. The memory is fixed; when a row is
// full, the account that has least makes room.
type guesses struct {
	limit  float64
	window time.Duration

	mu   sync.Mutex // guards the field below
	rows [][rowLen]guessed
}

// guessed is a bucket that fills with wrong passwords of one account and leaks.
type guessed struct {
	user  storage.UserID // 0: none
	level float64
	at    time.Time // when level was right
	next  time.Time // before it, no attempt of a stranger
}

func newGuesses(limit int, window time.Duration) *guesses {
	return &guesses{limit: float64(limit), window: window, rows: make([][rowLen]guessed, throttleRows)}
}

func (g *guesses) row(user storage.UserID) *[rowLen]guessed { return &g.rows[user%throttleRows] }

// left returns what is left of a bucket at now.
func (g *guesses) left(s *guessed, now time.Time) float64 {
	return max(0, s.level-g.limit*now.Sub(s.at).Seconds()/g.window.Seconds())
}

// full reports whether an account has as many wrong passwords as it may have.
func (g *guesses) full(user storage.UserID, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.row(user) {
		if s := &g.row(user)[i]; s.user == user {
			return g.left(s, now)+1 > g.limit
		}
	}
	return false
}

// attempt takes the one attempt at a full account that strangers have in each
// guessPause, and reports whether there was one.
func (g *guesses) attempt(user storage.UserID, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.row(user) {
		s := &g.row(user)[i]
		if s.user != user {
			continue
		}
		if now.Before(s.next) {
			return false
		}
		s.next = now.Add(guessPause)
		return true
	}
	return true
}

// failed counts a wrong password and reports whether it filled the bucket.
func (g *guesses) failed(user storage.UserID, now time.Time) (filled bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	row := g.row(user)
	index, least := 0, -1.0
	for i := range row {
		s := &row[i]
		left := g.left(s, now)
		if s.user == user {
			s.level, s.at = min(left+1, g.limit), now
			return left+1 <= g.limit && left+2 > g.limit
		}
		if least < 0 || left < least {
			index, least = i, left
		}
	}
	row[index] = guessed{user: user, level: 1, at: now}
	return false
}

// admits reports whether a password of an account may be looked at.
func (s *Service) admits(from netip.Addr, u *storage.User, now time.Time) bool {
	if s.throttle.refuses(from, u.ID, now) {
		return false
	}
	if !from.IsValid() || !s.guesses.full(u.ID, now) || s.atHome(from, u) {
		return true
	}
	if s.guesses.attempt(u.ID, now) {
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
	s.throttle.failed(from, user, now)
	if s.guesses.failed(user, now) {
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
	s.throttle.succeeded(from, u.ID)
	if s.atHome(from, u) {
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

// atHome reports whether an address, or its IPv6 /64, has signed in to an account
// before. The last storage.MaxHomes count.
func (s *Service) atHome(from netip.Addr, u *storage.User) bool {
	return slices.Contains(u.Homes, s.homeMark(from, u.ID))
}

// homeMark stands for an address in the record of an account. It tells nothing of
// the address without the key file.
func (s *Service) homeMark(from netip.Addr, user storage.UserID) uint64 {
	mac := hmac.New(sha256.New, s.keys.Load().file.Digest)
	mac.Write([]byte("home\x00"))
	mac.Write(binary.BigEndian.AppendUint32(nil, uint32(user)))
	a := source(from).As16()
	mac.Write(a[:])
	return binary.BigEndian.Uint64(mac.Sum(nil))
}
