package accounts

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/storage"
)

// The kinds of sealed values of accounts.
const (
	kindDigest   = "md5"
	kindPassword = "password"
)

// secrets seals and opens the passwords and CD keys of accounts.
type secrets struct {
	*seal.Keys
	keep     bool // see Options.KeepPasswords
	markSeed maphash.Seed
}

// bound returns what a sealed value of an account is bound to, so that it cannot be
// moved to another one.
func bound(kind string, u *storage.User) []byte {
	return []byte("respawnd account\x00" + kind + "\x00" + strconv.Itoa(u.Partner) + "\x00" + storage.Fold(u.Email))
}

// open returns a sealed value of a user, nil if it is empty.
func (s *secrets) open(kind string, u *storage.User, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	secret, err := s.Open(sealed, bound(kind, u))
	if err != nil {
		return nil, fmt.Errorf("password of user %d: %w", u.ID, err)
	}
	return secret, nil
}

// digest returns the md5hex of the user's password, "" if it has none.
func (s *secrets) digest(u *storage.User) (string, error) {
	sum, err := s.open(kindDigest, u, u.Secret)
	return hex.EncodeToString(sum), err
}

// password returns the password itself of a user, or ErrNotKept.
func (s *secrets) password(u *storage.User) (string, error) {
	if len(u.Password) == 0 {
		return "", ErrNotKept
	}
	password, err := s.open(kindPassword, u, u.Password)
	return string(password), err
}

// setDigest seals the MD5 of a password into u. The caller holds the key.
func (s *secrets) setDigest(u *storage.User, sum []byte) {
	u.Secret = s.Seal(sum, bound(kindDigest, u))
}

// keepPassword seals a password itself into u. The caller holds the key.
func (s *secrets) keepPassword(u *storage.User, password string) {
	u.Password = s.Seal([]byte(password), bound(kindPassword, u))
}

// setPassword seals a new password into u, which ends its reset link. The caller
// holds the key.
func (s *secrets) setPassword(u *storage.User, password string) {
	sum := md5.Sum([]byte(password))
	s.setDigest(u, sum[:])
	u.Password, u.Reset = nil, storage.ResetLink{}
	u.Passwords++
	if s.keep {
		s.keepPassword(u, password)
	}
}

// current reports whether the active key sealed everything that u has.
func (s *secrets) current(u *storage.User) bool { return s.Current(u.Secret) && s.Current(u.Password) }

// reseal seals the secrets of was for next, which may have another e-mail, with the
// active key. The caller holds it.
func (s *secrets) reseal(was, next *storage.User) error {
	sum, err := s.open(kindDigest, was, was.Secret)
	if err != nil {
		return err
	}
	password, err := s.open(kindPassword, was, was.Password)
	if err != nil {
		return err
	}
	if len(sum) > 0 {
		s.setDigest(next, sum)
	}
	if len(password) > 0 {
		s.keepPassword(next, string(password))
	}
	return nil
}

// markOf is the subject of a mark.
type markOf struct {
	secret, email string
	passwords     uint32
}

// mark returns a number that differs once the password is set, also to the same one,
// or email changes; 0 if the password cannot be opened. It means nothing outside this
// process, and reveals nothing about the password.
func (s *secrets) mark(u *storage.User, email string) (uint64, error) {
	secret, err := s.digest(u)
	if err != nil {
		return 0, err
	}
	return maphash.Comparable(s.markSeed, markOf{secret, email, u.Passwords}) | 1, nil
}

func (s *secrets) cdKeyDigest(what, game, text string) string {
	return base64.RawURLEncoding.EncodeToString(s.MAC([]byte(what + "\x00" + storage.Fold(game) + "\x00" + text)))
}

// cdKeyHash returns the digest of the md5hex of a CD key, which clients send instead
// of the key.
func (s *secrets) cdKeyHash(game, hash string) string {
	return s.cdKeyDigest("cd key md5", game, storage.Fold(hash))
}

// profileKeys is the purpose of the seal of CD keys of profiles.
const profileKeys = "respawnd profile keys"

// cdKeyBound returns what a sealed CD key of a profile is bound to.
func cdKeyBound(k *storage.CDKey) []byte { return []byte(k.Game + "\x00" + k.Digest) }

// cdKey returns a CD key of a profile itself, or ErrCDKeyNotKept.
func (s *secrets) cdKey(k *storage.CDKey) (string, error) {
	if len(k.Sealed) == 0 {
		return "", ErrCDKeyNotKept
	}
	key, err := s.OpenFor(profileKeys, k.Sealed, cdKeyBound(k))
	if err != nil {
		return "", fmt.Errorf("CD key: %w", err)
	}
	return string(key), nil
}

// NewSignature returns a signature for a buddy request or a profile:
// storage.SignatureLen random hex digits. Random digits are enough, because the
// store keeps the signature with the request and compares it.
func NewSignature() string {
	var b [storage.SignatureLen / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
