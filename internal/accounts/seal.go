package accounts

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"

	"github.com/respawnd/respawnd/storage"
)

// A sealed value:
//
//	offset size
//	     0    1  version of this layout, 1
//	     1    4  id of the key, big-endian
//	     5   12  nonce, random
//	    17    -  AES-256-GCM of the secret, with its tag
//
// The additional authenticated data is the kind, the partner code and the
// folded e-mail, so that a value cannot be moved to another account.
const (
	sealVersion = 1
	sealHeader  = 5
	nonceLen    = 12
)

// The kinds of sealed values.
const (
	kindDigest   = "md5"
	kindPassword = "password"
)

// bound returns the additional authenticated data of a sealed value.
func bound(kind string, u *storage.User) []byte {
	return []byte("respawnd account\x00" + kind + "\x00" + strconv.Itoa(u.Partner) + "\x00" + storage.Fold(u.Email))
}

// seal seals a secret of a user with the active key.
func (r *keyring) seal(kind string, u *storage.User, secret []byte) []byte {
	sealed := make([]byte, sealHeader+nonceLen, sealHeader+nonceLen+len(secret)+16)
	sealed[0] = sealVersion
	binary.BigEndian.PutUint32(sealed[1:], r.file.Active)
	_, _ = rand.Read(sealed[sealHeader:]) // never fails
	return r.aeads[r.file.Active].Seal(sealed, sealed[sealHeader:], secret, bound(kind, u))
}

// open returns the secret of a sealed value, or ErrUnsealable.
func (r *keyring) open(kind string, u *storage.User, sealed []byte) ([]byte, error) {
	if len(sealed) < sealHeader+nonceLen || sealed[0] != sealVersion {
		return nil, ErrUnsealable
	}
	aead := r.aeads[binary.BigEndian.Uint32(sealed[1:])]
	if aead == nil {
		return nil, ErrUnsealable
	}
	body := sealed[sealHeader:]
	secret, err := aead.Open(nil, body[:nonceLen], body[nonceLen:], bound(kind, u))
	if err != nil {
		return nil, ErrUnsealable
	}
	return secret, nil
}

// sealed reports whether the active key sealed everything that u has.
func (r *keyring) sealed(u *storage.User) bool { return r.current(u.Secret) && r.current(u.Password) }

// current reports whether a value is empty or sealed with the active key.
func (r *keyring) current(sealed []byte) bool {
	if len(sealed) < sealHeader {
		return len(sealed) == 0
	}
	return sealed[0] == sealVersion && binary.BigEndian.Uint32(sealed[1:]) == r.file.Active
}

// reseal seals the secrets of u for next, which has another key or another
// e-mail.
func (r *keyring) reseal(u, next *storage.User) error {
	for _, v := range []struct {
		kind string
		from []byte
		to   *[]byte
	}{{kindDigest, u.Secret, &next.Secret}, {kindPassword, u.Password, &next.Password}} {
		if len(v.from) == 0 {
			continue
		}
		secret, err := r.open(v.kind, u, v.from)
		if err != nil {
			return err
		}
		*v.to = r.seal(v.kind, next, secret)
	}
	return nil
}

// digest returns the digest of a CD key, which reveals nothing of the key to a reader that
// does not have the key file.
func (r *keyring) digest(game, cdKey string) string { return r.cdKeyDigest("cd key", game, cdKey) }

// hashDigest returns the digest of the md5hex of a CD key, which clients send instead
// of the key.
func (r *keyring) hashDigest(game, hash string) string {
	return r.cdKeyDigest("cd key md5", game, storage.Fold(hash))
}

// cdKeyDigest returns the keyed digest of a text about a CD key of a game.
func (r *keyring) cdKeyDigest(what, game, text string) string {
	mac := hmac.New(sha256.New, r.file.Digest)
	mac.Write([]byte(what + "\x00" + storage.Fold(game) + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
