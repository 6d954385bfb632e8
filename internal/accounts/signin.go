package accounts

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/storage"
)

// SignIn checks who players are: proofs, passwords, tokens and tickets.
type SignIn struct {
	store    *editor
	secrets  *secrets
	guard    *guard
	profiles *Profiles
	grants   *Grants
	metrics  *metrics
	log      zerolog.Logger
	fallback bool // see Options.NickFallback
	shared   bool // other nodes change accounts too

	notKept *netserve.Buckets[storage.UserID] // log lines about passwords that are not kept
}

// Login is a successful login.
type Login struct {
	User       storage.UserID
	Email      string
	Profile    storage.Profile
	UniqueNick string // in the namespace of the login, "" if there is none
	Proof      string // our answer: 32 hex digits
	Passwords  uint32 // of the account, see storage.User

	sealed  []byte // the digest of the password
	partner int    // of the account; sealed opens with it
	mark    uint64 // of the password; 0: not known
	changes uint64 // of accounts before the proof was checked
}

// LoginOf returns the login of a profile of an account, without UniqueNick and Proof.
func LoginOf(u *storage.User, p storage.Profile) Login {
	return Login{User: u.ID, Email: u.Email, Profile: p, Passwords: u.Passwords, sealed: u.Secret, partner: u.Partner}
}

// attempt is a client that tries to prove who it is.
type attempt struct {
	from   netip.Addr
	proves func(secret string) bool // in constant time
}

// missing returns err. If that is a refusal it counts as a failure with an account
// that does not exist, which takes about as long as a wrong password.
func (s *SignIn) missing(a attempt, err error) error {
	if _, refused := errors.AsType[Refusal](err); refused {
		s.guard.failed(a.from, 0, time.Now())
		_ = a.proves(NewSignature())
	}
	return err
}

// check checks an attempt with a secret of u that read returns, and returns the
// secret. Refusals: ErrThrottled, ErrBadPassword, ErrBanned, and those of read.
func (s *SignIn) check(ctx context.Context, a attempt, u *storage.User, read func(*storage.User) (string, error)) (string, error) {
	now := time.Now()
	if !s.guard.admits(a.from, u, now) {
		return "", ErrThrottled
	}
	secret, err := read(u)
	switch {
	case err != nil:
		return "", err
	case secret == "" || !a.proves(secret):
		s.guard.wrong(a.from, u.ID, now)
		return "", ErrBadPassword
	case u.Ban.In(now):
		return "", ErrBanned
	}
	s.guard.right(ctx, a.from, u)
	return secret, nil
}

// byGrant logs in the holder of a token or ticket of a table, with the answer that
// proves returns. A refusal of the table becomes what gone returns.
func (s *SignIn) byGrant(ctx context.Context, table grantTable, value string, from netip.Addr,
	proves func(grant) (answer string, ok bool), gone func(error) error,
) (Login, error) {
	g, err := table.find(value, time.Now())
	if err != nil {
		return Login{}, s.missing(attempt{from, func(secret string) bool {
			_, ok := proves(grant{challenge: secret})
			return ok
		}}, gone(err))
	}
	answer, ok := proves(g)
	if !ok {
		s.guard.failed(from, 0, time.Now())
		return Login{}, ErrBadPassword
	}
	p, u, err := s.store.profile(ctx, g.profile)
	if err != nil {
		return Login{}, err
	}
	if u.Ban.In(time.Now()) {
		return Login{}, ErrBanned
	}
	if err := table.use(value); err != nil {
		return Login{}, gone(err)
	}
	s.guard.right(ctx, from, &u)
	l := LoginOf(&u, p)
	l.Proof = answer
	return l, nil
}

// badToken returns ErrBadToken in place of a refusal of tokens.
func badToken(err error) error {
	if _, refused := errors.AsType[Refusal](err); refused {
		return ErrBadToken
	}
	return err
}

// Credentials are an e-mail and a password as a client sent them.
type Credentials struct {
	Partner  int
	Email    string
	Password string
	From     netip.Addr // failures are counted by it
}

// CheckPassword returns the account with that e-mail and password. Refusals:
// ErrThrottled, ErrBanned, ErrBadEmail, ErrBadPassword.
func (s *SignIn) CheckPassword(ctx context.Context, c Credentials) (storage.UserID, error) {
	u, err := s.checkPassword(ctx, c)
	s.metrics.login(err)
	return u.ID, err
}

func (s *SignIn) checkPassword(ctx context.Context, c Credentials) (storage.User, error) {
	if s.guard.refuses(c.From, 0, time.Now()) {
		return storage.User{}, ErrThrottled
	}
	a := attempt{c.From, func(secret string) bool { return equal(secretOf(c.Password), secret) }}
	u, err := s.store.UserByEmail(ctx, c.Partner, c.Email)
	if err != nil {
		return storage.User{}, s.missing(a, refuse(err, storage.ErrNotFound, ErrBadEmail))
	}
	if _, err := s.check(ctx, a, &u, s.secrets.digest); err != nil {
		return storage.User{}, err
	}
	s.keep(ctx, &u, c.Password)
	return u, nil
}

// keep seals a password that was just checked into an account that has only its
// digest, if Options.KeepPasswords is set. After an error the next sign-in tries again.
func (s *SignIn) keep(ctx context.Context, u *storage.User, password string) {
	if !s.secrets.keep || len(u.Password) > 0 {
		return
	}
	defer s.secrets.Hold()()
	s.store.remember(ctx, "password", u.ID, func(u *storage.User) error {
		secret, err := s.secrets.digest(u)
		if err != nil {
			return err
		}
		if len(u.Password) > 0 || !equal(secretOf(password), secret) { // changed meanwhile
			return errUnchanged
		}
		s.secrets.keepPassword(u, password)
		return nil
	})
}

// AtHome reports whether an address, or its IPv6 /64, has signed in to an account
// before. The last storage.MaxHomes count.
func (s *SignIn) AtHome(from netip.Addr, u *storage.User) bool { return s.guard.atHome(from, u) }

// Recheck returns why a login of CheckProof no longer holds, nil if it does. The caller
// has registered its session, so that a ban, a new password or a deletion is either
// seen here or ends the session. Refusals: ErrBanned, ErrBadPassword, ErrBadProfile,
// ErrProfileDeleted.
//
// On a node that is alone it reads the store only if an account has changed since the
// proof was checked.
func (s *SignIn) Recheck(ctx context.Context, l *Login) error {
	if s.store.changes.Load() == l.changes && !s.shared {
		return nil
	}
	u, err := s.store.GetUser(ctx, l.User)
	if err == nil {
		_, err = s.store.GetProfile(ctx, l.Profile.ID)
	}
	switch {
	case err != nil:
		return refuseMissing(err)
	case u.Ban.In(time.Now()):
		return ErrBanned
	case !s.SamePassword(l, &u):
		return ErrBadPassword
	}
	return nil
}

// SamePassword reports whether the account, read again, has the password that it had when
// l was made. It may have been sealed again meanwhile, by a new key or e-mail address.
func (s *SignIn) SamePassword(l *Login, u *storage.User) bool {
	if bytes.Equal(l.sealed, u.Secret) {
		return true
	}
	was := l.mark
	if was == 0 {
		was = s.loginMark(l)
	}
	mark, _ := s.secrets.mark(u, "")
	return was != 0 && was == mark
}

// loginMark returns the mark of the password with which l was made, 0 if there is
// none.
func (s *SignIn) loginMark(l *Login) (mark uint64) {
	if l.User != 0 {
		mark, _ = s.secrets.mark(&storage.User{ID: l.User, Partner: l.partner, Email: l.Email, Secret: l.sealed, Passwords: l.Passwords}, "")
	}
	return mark
}

// DetailOf returns the detail of the verdict on an address after a refusal, "" if it
// has none.
func DetailOf(err error) string {
	if other, ok := errors.AsType[*NamespaceError](err); ok {
		return other.Detail()
	}
	return ""
}

// VerdictOn returns the verdict on an address after a refusal. ok is false for
// any other error, which is a fault of the server.
func VerdictOn(err error) (v verdicts.Verdict, ok bool) {
	if _, ok := errors.AsType[*NamespaceError](err); ok {
		return verdicts.OtherNamespace, true
	}
	why, ok := errors.AsType[Refusal](err)
	if !ok {
		return 0, false
	}
	if v, ok := verdictOf[why]; ok {
		return v, true
	}
	return verdicts.AccountRefused, true
}

var verdictOf = map[Refusal]verdicts.Verdict{
	ErrMalformed: verdicts.MalformedRequest, ErrThrottled: verdicts.Limited, ErrBanned: verdicts.AccountBanned, ErrBadPassword: verdicts.WrongPassword,
	ErrBadEmail: verdicts.NoSuchAccount, ErrBadProfile: verdicts.NoSuchAccount, ErrProfileDeleted: verdicts.NoSuchAccount,
	ErrBadUniqueNick: verdicts.NoSuchAccount, ErrBadToken: verdicts.BadTicket, ErrBadTicket: verdicts.BadTicket,
	ErrExpiredTicket: verdicts.BadTicket, ErrNotKept: verdicts.NotKept, ErrCDKeyNotKept: verdicts.NotKept,
}
