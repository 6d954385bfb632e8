package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
)

// Passwords changes passwords and e-mails, also with reset links.
type Passwords struct {
	store   *editor
	secrets *secrets
	guard   *guard
	log     zerolog.Logger
}

// Mark returns a number that changes when the password of an account is set, also to
// the same one, or its e-mail address, and with nothing else, key rotation included. It
// can be compared within this process only, and reveals nothing about the password.
func (s *Passwords) Mark(u *storage.User) (uint64, error) { return s.secrets.mark(u, u.Email) }

// Change gives an account another password. The caller must have
// checked that the request comes from the owner or the operator. Refusals:
// ErrBadPassword.
func (s *Passwords) Change(ctx context.Context, id storage.UserID, password string) error {
	if err := checkPassword(password); err != nil {
		return err
	}
	defer s.secrets.Hold()()
	err := s.store.editUser(ctx, id, func(u *storage.User) error {
		s.secrets.setPassword(u, password)
		return nil
	})
	if err != nil {
		return fmt.Errorf("change password: %w", err)
	}
	s.log.Info().Uint32("user", uint32(id)).Msg("password changed")
	return nil
}

// ChangeEmail gives an account another e-mail, and ends its reset link, which may
// have been sent to the old one. Refusals: ErrBadEmail, ErrEmailTaken.
func (s *Passwords) ChangeEmail(ctx context.Context, id storage.UserID, email string) error {
	if err := checkEmail(email); err != nil {
		return err
	}
	defer s.secrets.Hold()()
	return s.store.editUser(ctx, id, func(u *storage.User) error {
		next := *u
		next.Email, next.Reset = email, storage.ResetLink{}
		if err := s.secrets.reseal(u, &next); err != nil { // the e-mail is part of the seal
			return err
		}
		*u = next
		return nil
	})
}

// The code of a reset link, in base64 for URLs:
//
//	offset size
//	     0    4  id of the account, big-endian
//	     4   32  secret
//
// The secret of an issued link is random, and the store has the SHA-256 of the whole,
// which no search can invert. The store knows nothing of a signed link. Its secret:
//
//	offset size
//	     4    4  when it ends, in seconds since 1970, big-endian
//	     8   28  first bytes of the HMAC-SHA256 of resetMAC
const (
	resetIDLen     = 4
	resetSecretLen = 32
	resetHeadLen   = resetIDLen + 4
)

// ResetLife is how long a reset link can be used.
const ResetLife = 24 * time.Hour

// Reset is a link with which the owner of an account sets another password.
type Reset struct {
	Code    string // letters, digits, hyphens and underscores
	Expires time.Time
}

// IssueReset returns a new reset link for an account. It ends the one that was issued
// before. The caller hands the code to the owner only.
func (s *Passwords) IssueReset(ctx context.Context, id storage.UserID) (Reset, error) {
	raw := binary.BigEndian.AppendUint32(make([]byte, 0, resetIDLen+resetSecretLen), uint32(id))
	raw = raw[:cap(raw)]
	_, _ = rand.Read(raw[resetIDLen:]) // never fails
	sum := sha256.Sum256(raw)
	r := Reset{Code: base64.RawURLEncoding.EncodeToString(raw), Expires: time.Now().Add(ResetLife)}
	err := s.store.editUser(ctx, id, func(u *storage.User) error {
		u.Reset = storage.ResetLink{Digest: sum[:], Expires: r.Expires}
		return nil
	})
	if err != nil {
		return Reset{}, fmt.Errorf("reset link: %w", err)
	}
	s.log.Info().Uint32("user", uint32(id)).Time("expires", r.Expires).Msg("reset link issued")
	return r, nil
}

// SignReset returns a reset link that is not stored, for a link that anyone can ask for:
// it changes nothing and ends no other. It ends with the password, with the e-mail, and
// after ResetLife. The caller sends the code to the e-mail of the account only.
func (s *Passwords) SignReset(u *storage.User) (Reset, error) {
	end := time.Now().Add(ResetLife).Truncate(time.Second)
	raw := binary.BigEndian.AppendUint32(make([]byte, 0, resetIDLen+resetSecretLen), uint32(u.ID))
	raw = binary.BigEndian.AppendUint32(raw, uint32(end.Unix()))
	mac, err := s.resetMAC(u, raw)
	if err != nil {
		return Reset{}, fmt.Errorf("reset link: %w", err)
	}
	return Reset{Code: base64.RawURLEncoding.EncodeToString(append(raw, mac...)), Expires: end}, nil
}

// resetMAC returns the end of the code of a signed link for its first resetHeadLen bytes.
// It depends on the digest of the password, so that neither the key file nor a copy of the
// store alone is enough to make one, and on the number of the password, so that the
// link ends with it.
func (s *Passwords) resetMAC(u *storage.User, head []byte) ([]byte, error) {
	secret, err := s.secrets.digest(u)
	if err != nil {
		return nil, err
	}
	text := append([]byte("reset\x00"), head...)
	text = binary.BigEndian.AppendUint32(text, u.Passwords)
	text = append(text, secret+"\x00"+u.Email...)
	return s.secrets.MAC(text)[:resetSecretLen-(resetHeadLen-resetIDLen)], nil
}

// fitsReset reports whether the code of a link, decoded, is one of u that can be used.
func (s *Passwords) fitsReset(u *storage.User, raw []byte) bool {
	now := time.Now()
	sum := sha256.Sum256(raw)
	if u.Reset.In(now) && subtle.ConstantTimeCompare(u.Reset.Digest, sum[:]) == 1 {
		return true
	}
	end := time.Unix(int64(binary.BigEndian.Uint32(raw[resetIDLen:])), 0)
	mac, err := s.resetMAC(u, raw[:resetHeadLen]) // an error: none was signed
	return err == nil && now.Before(end) && hmac.Equal(mac, raw[resetHeadLen:])
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

// UseReset sets the password of the account that a reset link belongs to, which ends
// all its links, in one step. The caller ends the sessions of the account. From is the
// address of the owner, from which the account admits sign-ins from then on although
// its password is being guessed. Refusals: ErrBadReset, ErrBadPassword.
func (s *Passwords) UseReset(ctx context.Context, code, password string, from netip.Addr) error {
	raw, err := resetBytes(code)
	if err == nil {
		err = checkPassword(password)
	}
	if err != nil {
		return err
	}
	id := storage.UserID(binary.BigEndian.Uint32(raw))
	var owner storage.User
	release := s.secrets.Hold()
	err = s.store.editUser(ctx, id, func(u *storage.User) error {
		if !s.fitsReset(u, raw) {
			return ErrBadReset
		}
		s.secrets.setPassword(u, password)
		owner = *u
		return nil
	})
	release()
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return ErrBadReset
	case errors.Is(err, ErrBadReset):
		return err
	case err != nil:
		return fmt.Errorf("use reset link: %w", err)
	}
	s.log.Info().Uint32("user", uint32(id)).Msg("password changed with a reset link")
	s.guard.right(ctx, from, &owner)
	return nil
}

// SweepResets removes the issued links that have expired from the store, and returns
// how many there were. They cannot be used anyway.
func (s *Passwords) SweepResets(ctx context.Context) (n int, err error) {
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
		err := s.store.editUser(storage.WithoutAudit(ctx), u.ID, func(u *storage.User) error {
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
