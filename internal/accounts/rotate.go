package accounts

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/storage"
)

// RotateKey makes a new sealing key, seals everything with it and removes the
// old keys. Logins and registrations continue meanwhile. It returns how many
// accounts it sealed again.
//
// A crash at any moment loses nothing: the next call of RotateKey finishes the work,
// also after an error. The old keys stay in the file while there is an account that
// does not open.
func (s *Service) RotateKey(ctx context.Context) (n int, err error) {
	err = s.Keys.Rotate(func() error {
		n, err = s.resealAll(ctx)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("rotate key: %w", err)
	}
	s.log.Info().Int("accounts", n).Msg("sealing key rotated")
	return n, nil
}

// maxRotateErrors is the number of accounts that an error lists by name.
const maxRotateErrors = 10

// resealers is the number of accounts sealed concurrently: the store combines
// concurrent writes into one sync of the disk.
const resealers = 64

// resealAll seals everything with the active key.
func (s *Service) resealAll(ctx context.Context) (n int, err error) {
	var mu sync.Mutex // guards n and failed
	var failed []error
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			n++
		} else if len(failed) < maxRotateErrors {
			failed = append(failed, err)
		}
	}
	var g errgroup.Group
	g.SetLimit(resealers)
	for u, err := range s.store.Users(ctx, 0) {
		switch {
		case ctx.Err() != nil:
		case err != nil:
			note(err)
		case !s.secrets.current(&u):
			g.Go(func() error { note(s.resealUser(ctx, u.ID)); return nil })
		}
	}
	_ = g.Wait() // note collected the errors
	if ctx.Err() != nil {
		return n, ctx.Err()
	}
	return n, errors.Join(failed...)
}

// resealUser seals the secrets of a user with the active key. A user deleted
// meanwhile is not an error.
func (s *Service) resealUser(ctx context.Context, id storage.UserID) error {
	defer s.Keys.Hold()()
	err := s.store.editUser(ctx, id, func(u *storage.User) error {
		if s.secrets.current(u) {
			return errUnchanged
		}
		return s.secrets.reseal(u, u)
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("user %d: %w", id, err)
	}
	return nil
}
