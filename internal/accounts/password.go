package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Credentials are an e-mail and a password as a client sent them.
type Credentials struct {
	Partner  int
	Email    string
	Password string
	From     netip.Addr // failures are counted by it
}

// CheckPassword returns the account with that e-mail and password. Refusals:
// ErrThrottled, ErrBanned, ErrBadEmail, ErrBadPassword.
func (s *Service) CheckPassword(ctx context.Context, c Credentials) (storage.UserID, error) {
	u, err := s.checkPassword(ctx, c)
	s.metrics.login(err)
	return u.ID, err
}

func (s *Service) checkPassword(ctx context.Context, c Credentials) (storage.User, error) {
	now := time.Now()
	if s.failures.refuses(c.From, 0, now) {
		return storage.User{}, ErrThrottled
	}
	u, err := s.store.UserByEmail(ctx, c.Partner, c.Email)
	if errors.Is(err, storage.ErrNotFound) {
		s.failures.failed(c.From, 0, now)
		_ = samePassword(NewSignature(), c.Password)
		return storage.User{}, ErrBadEmail
	}
	if err != nil {
		return storage.User{}, err
	}
	if !s.admits(c.From, &u, now) {
		return storage.User{}, ErrThrottled
	}
	secret, err := s.secret(&u)
	if err != nil {
		return storage.User{}, err
	}
	if secret == "" || !samePassword(secret, c.Password) {
		s.wrong(c.From, u.ID, now)
		return storage.User{}, ErrBadPassword
	}
	if u.Ban.In(now) {
		return storage.User{}, ErrBanned
	}
	s.right(ctx, c.From, &u)
	s.keep(ctx, &u, c.Password)
	return u, nil
}

// samePassword compares a password with a secret in constant time.
func samePassword(secret, password string) bool {
	return subtle.ConstantTimeCompare([]byte(secretOf(password)), []byte(secret)) == 1
}

// setPassword seals a password into u, which ends its reset link. The caller holds
// sealing for reading.
func (s *Service) setPassword(u *storage.User, password string) {
	keys := s.keys.Load()
	sum := md5.Sum([]byte(password))
	u.Secret, u.Password, u.Reset = keys.seal(kindDigest, u, sum[:]), nil, storage.ResetLink{}
	u.Passwords++
	if s.opt.KeepPasswords {
		u.Password = keys.seal(kindPassword, u, []byte(password))
	}
}

// PasswordMark returns a value that changes when the password of an account is set,
// also to the same one, or its e-mail address, and with nothing else, key rotation
// included. It can be
// compared within this process only, and reveals nothing about the password.
func (s *Service) PasswordMark(u *storage.User) ([sha256.Size]byte, error) {
	secret, err := s.secret(u)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	mac := hmac.New(sha256.New, s.markKey[:])
	mac.Write([]byte(secret + "\x00" + u.Email + "\x00"))
	mac.Write(binary.BigEndian.AppendUint32(nil, u.Passwords))
	return [sha256.Size]byte(mac.Sum(nil)), nil
}

// ChangePassword gives an account another password. The caller must have
// checked that the request comes from the owner or the operator. Refusals:
// ErrBadPassword.
func (s *Service) ChangePassword(ctx context.Context, id storage.UserID, password string) error {
	if err := checkPassword(password); err != nil {
		return err
	}
	s.sealing.RLock()
	defer s.sealing.RUnlock()
	err := s.editUser(ctx, id, func(u *storage.User) error {
		s.setPassword(u, password)
		return nil
	})
	if err != nil {
		return fmt.Errorf("change password: %w", err)
	}
	s.log.Info().Uint32("user", uint32(id)).Msg("password changed")
	return nil
}

// keep seals a password that was just checked into an account that has only its
// digest, if Options.KeepPasswords is set. An error is only logged: the player is
// signed in without it, and the next sign-in tries again.
func (s *Service) keep(ctx context.Context, u *storage.User, password string) {
	if !s.opt.KeepPasswords || len(u.Password) > 0 {
		return
	}
	s.sealing.RLock()
	defer s.sealing.RUnlock()
	err := s.editUser(storage.WithoutAudit(ctx), u.ID, func(u *storage.User) error {
		secret, err := s.secret(u)
		if err != nil {
			return err
		}
		if len(u.Password) > 0 || !samePassword(secret, password) { // changed meanwhile
			return errUnchanged
		}
		u.Password = s.keys.Load().seal(kindPassword, u, []byte(password))
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	if untold, tell := s.unsealed.Tell(time.Now()); tell {
		s.log.Error().Err(err).Uint32("user", uint32(u.ID)).Int("untold", untold).Msg("the password of a sign-in was not stored")
	}
}

// password returns the password itself of a user, or ErrNotKept.
func (s *Service) password(u *storage.User) (string, error) {
	if len(u.Password) == 0 {
		return "", ErrNotKept
	}
	password, err := s.keys.Load().open(kindPassword, u, u.Password)
	if err != nil {
		return "", fmt.Errorf("password of user %d: %w", u.ID, err)
	}
	return string(password), nil
}

// ChangeEmail gives an account another e-mail, and ends its reset link, which may
// have been sent to the old one. Refusals: ErrBadEmail, ErrEmailTaken.
func (s *Service) ChangeEmail(ctx context.Context, id storage.UserID, email string) error {
	if err := checkEmail(email); err != nil {
		return err
	}
	s.sealing.RLock()
	defer s.sealing.RUnlock()
	return s.editUser(ctx, id, func(u *storage.User) error {
		next := *u
		next.Email, next.Reset = email, storage.ResetLink{}
		if err := s.keys.Load().reseal(u, &next); err != nil { // the e-mail is part of the seal
			return fmt.Errorf("password of user %d: %w", id, err)
		}
		*u = next
		return nil
	})
}
