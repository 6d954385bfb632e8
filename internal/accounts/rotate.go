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
// A crash at any moment loses nothing: both keys are in the file until the last
// account has the new one, and the next call of RotateKey finishes the work,
// also after an error. The old keys stay in the file while there is an account
// that does not open.
func (s *Service) RotateKey(ctx context.Context) (n int, err error) {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	if err := s.switchKey(); err != nil {
		return 0, fmt.Errorf("rotate key: %w", err)
	}
	n, err = s.resealAll(ctx)
	if err != nil {
		return n, fmt.Errorf("rotate key: the old key stays in use: %w", err)
	}
	last, err := s.keys.Load().activeOnly()
	if err != nil {
		return n, fmt.Errorf("rotate key: %w", err)
	}
	if err := last.write(s.opt.KeyFile, false); err != nil {
		return n, fmt.Errorf("rotate key: %w", err)
	}
	last.alsoOpens(s.keys.Load())
	s.keys.Store(last)
	s.log.Info().Int("accounts", n).Msg("sealing key rotated")
	return n, nil
}

// switchKey makes a new key the active one. The key is written to the file
// before it is used, and after everything that was sealed with the old key is
// stored.
func (s *Service) switchKey() error {
	next, err := s.keys.Load().withNewKey()
	if err != nil {
		return err
	}
	if err := next.write(s.opt.KeyFile, false); err != nil {
		return err
	}
	s.sealing.Lock()
	defer s.sealing.Unlock()
	s.keys.Store(next)
	return nil
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
		case !s.keys.Load().sealed(&u):
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
	s.sealing.RLock()
	defer s.sealing.RUnlock()
	err := s.editUser(ctx, id, func(u *storage.User) error {
		keys := s.keys.Load()
		if keys.sealed(u) {
			return errUnchanged
		}
		next := *u
		if err := keys.reseal(u, &next); err != nil {
			return err
		}
		*u = next
		return nil
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("user %d: %w", id, err)
	}
	return nil
}

// WhileKeyStays runs f while the key file cannot change, so that copies of the
// store and of the key file made by f match.
func (s *Service) WhileKeyStays(f func() error) error {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	return f()
}
