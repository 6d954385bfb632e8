package accounts

import (
	"context"
	"time"
)

// Recheck returns why a login of CheckProof no longer holds, nil if it does. The caller
// has registered its session, so that a ban, a new password or a deletion is either
// seen here or ends the session. Refusals: ErrBanned, ErrBadPassword, ErrBadProfile,
// ErrProfileDeleted.
//
// It reads the store only if an account has changed since the proof was checked.
func (s *Service) Recheck(ctx context.Context, l *Login) error {
	if s.changes.Load() == l.changes {
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
	case !l.SamePassword(&u):
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
