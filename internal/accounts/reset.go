package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// The code of a reset link, in base64 for URLs:
//
//	offset size
//	     0    4  id of the account, big-endian
//	     4   32  secret, random
//
// The store has the SHA-256 of the whole, which no search can invert.
const (
	resetIDLen     = 4
	resetSecretLen = 32
)

// ResetLife is how long a reset link can be used.
const ResetLife = 24 * time.Hour

// Reset is a link with which the owner of an account sets another password.
type Reset struct {
	Code    string // letters, digits, hyphens and underscores
	Expires time.Time
}

// IssueReset returns a new reset link for an account. It ends the one before.
// The caller hands the code to the owner only.
func (s *Service) IssueReset(ctx context.Context, id storage.UserID) (Reset, error) {
	raw := binary.BigEndian.AppendUint32(make([]byte, 0, resetIDLen+resetSecretLen), uint32(id))
	raw = raw[:cap(raw)]
	_, _ = rand.Read(raw[resetIDLen:]) // never fails
	sum := sha256.Sum256(raw)
	r := Reset{Code: base64.RawURLEncoding.EncodeToString(raw), Expires: time.Now().Add(ResetLife)}
	err := s.editUser(ctx, id, func(u *storage.User) error {
		u.Reset = storage.ResetLink{Digest: sum[:], Expires: r.Expires}
		return nil
	})
	if err != nil {
		return Reset{}, fmt.Errorf("reset link: %w", err)
	}
	s.log.Info().Uint32("user", uint32(id)).Time("expires", r.Expires).Msg("reset link issued")
	return r, nil
}

// AccountByEmail returns the account of a partner code with an e-mail, or an error
// that matches storage.ErrNotFound.
func (s *Service) AccountByEmail(ctx context.Context, partner int, email string) (storage.User, error) {
	return s.store.UserByEmail(ctx, partner, email)
}

// ResetAccount returns the account that the code of a reset link names, without
// checking the code. Refusals: ErrBadReset.
func ResetAccount(code string) (storage.UserID, error) {
	raw, err := resetBytes(code)
	if err != nil {
		return 0, err
	}
	return storage.UserID(binary.BigEndian.Uint32(raw)), nil
}

// resetBytes decodes the code of a reset link.
func resetBytes(code string) ([]byte, error) {
	const n = resetIDLen + resetSecretLen
	if len(code) != base64.RawURLEncoding.EncodedLen(n) {
		return nil, ErrBadReset
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(code)
	if err != nil || len(raw) != n {
		return nil, ErrBadReset
	}
	return raw, nil
}

// UseReset sets the password of the account that a reset link belongs to, and uses
// the link up, in one step. The caller ends the sessions of the account. From is the
// address of the owner, from which the account admits sign-ins from then on although
// its password is being guessed. Refusals: ErrBadReset, ErrBadPassword.
func (s *Service) UseReset(ctx context.Context, code, password string, from netip.Addr) error {
	raw, err := resetBytes(code)
	if err == nil {
		err = checkPassword(password)
	}
	if err != nil {
		return err
	}
	sum, id := sha256.Sum256(raw), storage.UserID(binary.BigEndian.Uint32(raw))
	var owner storage.User
	s.sealing.RLock()
	err = s.editUser(ctx, id, func(u *storage.User) error {
		if !u.Reset.In(time.Now()) || subtle.ConstantTimeCompare(u.Reset.Digest, sum[:]) != 1 {
			return ErrBadReset
		}
		s.setPassword(u, password)
		owner = *u
		return nil
	})
	s.sealing.RUnlock()
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return ErrBadReset
	case errors.Is(err, ErrBadReset):
		return err
	case err != nil:
		return fmt.Errorf("use reset link: %w", err)
	}
	s.log.Info().Uint32("user", uint32(id)).Msg("password changed with a reset link")
	s.right(ctx, from, &owner)
	return nil
}

// SweepResets removes the reset links that have expired from the store, and returns
// how many there were. They cannot be used anyway.
func (s *Service) SweepResets(ctx context.Context) (n int, err error) {
	for u, err := range s.store.Users(ctx, 0) {
		if errors.Is(err, storage.ErrDamaged) {
			continue // the account itself is reported where it is used
		}
		if err != nil {
			return n, err
		}
		if len(u.Reset.Digest) == 0 || u.Reset.In(time.Now()) {
			continue
		}
		err := s.editUser(storage.WithoutAudit(ctx), u.ID, func(u *storage.User) error {
			if u.Reset.In(time.Now()) {
				return errUnchanged // a new one
			}
			u.Reset = storage.ResetLink{}
			return nil
		})
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return n, err
		}
		n++
	}
	return n, nil
}
