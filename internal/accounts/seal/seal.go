// Package seal seals secrets with the keys of a file that lies outside the store,
// so that a copy of the store alone reveals nothing. It also computes keyed digests.
//
// It stores nothing but its file, and does not know what the secrets are: package
// accounts does.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

// ErrUnsealable means that a sealed value was sealed with another key, bound to
// something else, or is damaged.
var ErrUnsealable = errors.New("sealed value does not open")

// A value that Seal sealed:
//
//	offset size
//	     0    1  version of this layout, 1
//	     1    4  id of the key, big-endian
//	     5   12  nonce, random
//	    17    -  AES-256-GCM of the secret, with its tag
//
// One that SealFor sealed has no id: its key is derived from the one for digests.
const (
	version  = 1
	header   = 5
	nonceLen = 12
)

// Keys are the keys of a file. All methods may be called concurrently.
type Keys struct {
	path string
	ring atomic.Pointer[keyring] // never nil

	// sealing is held for reading from sealing something until it is stored, and for
	// writing while the active key changes: records stored later were sealed with the new
	// one.
	sealing sync.RWMutex
	// rotating is held while the file may change.
	rotating sync.Mutex
}

// Seal seals a secret with the active key. It opens only with the same bound. The
// caller holds the key, see Hold, until the value is stored.
func (k *Keys) Seal(secret, bound []byte) []byte {
	r := k.ring.Load()
	head := binary.BigEndian.AppendUint32([]byte{version}, r.file.Active)
	return seal(r.aeads[r.file.Active], head, secret, bound)
}

// Open returns the secret of a value that Seal sealed, or ErrUnsealable.
func (k *Keys) Open(sealed, bound []byte) ([]byte, error) {
	if len(sealed) < header || sealed[0] != version {
		return nil, ErrUnsealable
	}
	return open(k.ring.Load().aeads[binary.BigEndian.Uint32(sealed[1:])], sealed[header:], bound)
}

// Current reports whether a value is empty or sealed with the active key.
func (k *Keys) Current(sealed []byte) bool {
	if len(sealed) < header {
		return len(sealed) == 0
	}
	return sealed[0] == version && binary.BigEndian.Uint32(sealed[1:]) == k.ring.Load().file.Active
}

// SealFor seals a secret with a key of its own for that purpose, which rotations do
// not change.
func (k *Keys) SealFor(purpose string, secret, bound []byte) ([]byte, error) {
	aead, err := newAEAD(k.MAC([]byte(purpose)))
	if err != nil {
		return nil, err
	}
	return seal(aead, []byte{version}, secret, bound), nil
}

// OpenFor returns the secret of a value that SealFor sealed for that purpose, or
// ErrUnsealable.
func (k *Keys) OpenFor(purpose string, sealed, bound []byte) ([]byte, error) {
	aead, err := newAEAD(k.MAC([]byte(purpose)))
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 || sealed[0] != version {
		return nil, ErrUnsealable
	}
	return open(aead, sealed[1:], bound)
}

// MAC returns the HMAC-SHA256 of a message with the key for digests: the same on all
// nodes of a cluster, and after rotations. It reveals nothing of the message without
// the file. Messages of different purposes begin differently.
func (k *Keys) MAC(message []byte) []byte {
	mac := hmac.New(sha256.New, k.ring.Load().file.Digest)
	mac.Write(message)
	return mac.Sum(nil)
}

// Fingerprint returns a text that identifies the file, also after rotations. It
// reveals nothing about the keys.
func (k *Keys) Fingerprint() string {
	sum := sha256.Sum256(append([]byte("respawnd key file\x00"), k.ring.Load().file.Digest...))
	return hex.EncodeToString(sum[:8])
}

// Hold keeps the active key in use until release, from before something is sealed
// until it is stored.
func (k *Keys) Hold() (release func()) {
	k.sealing.RLock()
	return k.sealing.RUnlock
}

// WhileFileStays runs f while the file cannot change, so that copies of the store and
// of the file made by f match.
func (k *Keys) WhileFileStays(f func() error) error {
	k.rotating.Lock()
	defer k.rotating.Unlock()
	return f()
}

// Rotate makes a new key the active one, calls reseal, which must seal everything
// that is not Current again, and removes the old keys.
//
// A crash at any moment loses nothing: both keys are in the file until reseal returns
// nil, and the next Rotate finishes the work.
func (k *Keys) Rotate(reseal func() error) error {
	return k.WhileFileStays(func() error {
		if err := k.begin(); err != nil {
			return err
		}
		if err := reseal(); err != nil {
			return fmt.Errorf("the old key stays in use: %w", err)
		}
		return k.finish()
	})
}

// begin makes a new key the active one. The key is written to the file before it is
// used, and after everything that was sealed with the old key is stored.
func (k *Keys) begin() error {
	next, err := k.ring.Load().withNewKey()
	if err != nil {
		return err
	}
	if err := next.file.write(k.path, false); err != nil {
		return err
	}
	k.sealing.Lock()
	defer k.sealing.Unlock()
	k.ring.Store(next)
	return nil
}

// finish removes the old keys from the file. They still open values until the program
// ends: a caller may have read one just before it was sealed again.
func (k *Keys) finish() error {
	old := k.ring.Load()
	last, err := old.activeOnly()
	if err != nil {
		return err
	}
	if err := last.file.write(k.path, false); err != nil {
		return err
	}
	maps.Copy(last.aeads, old.aeads)
	k.ring.Store(last)
	return nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal returns head, a nonce and the sealed secret.
func seal(aead cipher.AEAD, head, secret, bound []byte) []byte {
	n := len(head)
	sealed := make([]byte, n+nonceLen, n+nonceLen+len(secret)+aead.Overhead())
	copy(sealed, head)
	_, _ = rand.Read(sealed[n:]) // never fails
	return aead.Seal(sealed, sealed[n:], secret, bound)
}

// open returns the secret of what follows the head. aead is nil if there is no such
// key.
func open(aead cipher.AEAD, body, bound []byte) ([]byte, error) {
	if aead == nil || len(body) < nonceLen {
		return nil, ErrUnsealable
	}
	secret, err := aead.Open(nil, body[:nonceLen], body[nonceLen:], bound)
	if err != nil {
		return nil, ErrUnsealable
	}
	return secret, nil
}
