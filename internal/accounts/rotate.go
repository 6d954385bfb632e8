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
// old keys. Logins and registrations go on meanwhile. It returns how many
// accounts it sealed again.
//
// A crash at any moment loses nothing: both keys are in the file until the last
// account has the new one, and the next RotateKey finishes the work. So does it
// after an error; an account that does not open keeps the old keys in the file.
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

// switchKey makes a new key the active one. It is in the file before anything
// is sealed with it, and whatever was sealed with an older one is stored.
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

// maxRotateErrors is how many accounts that do not open one error names.
const maxRotateErrors = 10

// resealers is how many accounts are sealed at a time: the store writes what
// comes together with one trip to the disk.
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
	_ = g.Wait() // note has the errors
	if ctx.Err() != nil {
		return n, ctx.Err()
	}
	return n, errors.Join(failed...)
}

// resealUser seals what a user has with the active key. A user that was deleted
// meanwhile is no error.
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

// WhileKeyStays runs f while the key file does not change: a copy of the store
// and of the key file that f makes fit together.
func (s *Service) WhileKeyStays(f func() error) error {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	return f()
}
