package accounts

import (
	"bytes"
	"context"
	"hash/maphash"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Recheck returns why a login of CheckProof no longer holds, nil if it does. The caller
// has registered its session, so that a ban, a new password or a deletion is either
// seen here or ends the session. Refusals: ErrBanned, ErrBadPassword, ErrBadProfile,
// ErrProfileDeleted.
//
// On a node that is alone it reads the store only if an account has changed since the
// proof was checked.
func (s *Service) Recheck(ctx context.Context, l *Login) error {
	if s.changes.Load() == l.changes && !s.shared {
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

// changed counts a change of accounts after the store made it, and returns its error.
// The sessions of the account are ended after that.
func (s *Service) changed(err error) error {
	if err == nil {
		s.changes.Add(1)
	}
	return err
}

// SamePassword reports whether the account, read again, has the password that it had when
// l was made. It may have been sealed again meanwhile, by a new key or e-mail address.
func (s *Service) SamePassword(l *Login, u *storage.User) bool {
	if bytes.Equal(l.sealed, u.Secret) {
		return true
	}
	mark := l.mark
	if mark == 0 {
		mark = s.loginMark(l)
	}
	return mark != 0 && mark == s.mark(u)
}

// loginMark returns the mark of the password with which l was made.
func (s *Service) loginMark(l *Login) uint64 {
	if l.User == 0 {
		return 0
	}
	return s.mark(&storage.User{ID: l.User, Partner: l.partner, Email: l.Email, Secret: l.sealed, Passwords: l.Passwords})
}

// markOf is the subject of a mark.
type markOf struct {
	secret    string
	passwords uint32
}

// mark returns a number that differs once the password is set, 0 if the password cannot be
// opened. It means nothing outside this process.
func (s *Service) mark(u *storage.User) uint64 {
	secret, err := s.secret(u)
	if err != nil {
		return 0
	}
	return maphash.Comparable(s.markSeed, markOf{secret, u.Passwords}) | 1
}
