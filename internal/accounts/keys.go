package accounts

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/respawnd/respawnd/internal/durable"
)

// Errors of the key file.
var (
	// ErrNoKey means that the key file is missing although accounts were
	// sealed with it.
	ErrNoKey = errors.New("the sealing key is missing, the accounts cannot be opened without it; \"respawnd restore\" brings back that of a backup")
	// ErrKeyFile means that the key file is not valid.
	ErrKeyFile = errors.New("not a sealing key file, or damaged; \"respawnd restore\" brings back that of a backup")
	// ErrKeyExposed means that others than the owner may read the key file.
	ErrKeyExposed = errors.New("the sealing key is readable by others; set its mode to 0600")
	// ErrUnsealable means that a sealed value was sealed with another key, for
	// another account, or is damaged.
	ErrUnsealable = errors.New("sealed value does not open")
)

const (
	keyFormat  = 1
	keyLen     = 32 // AES-256
	maxKeyFile = 64 << 10
	maxKeys    = 64
)

// keyFile is the key file: JSON, outside the store. Sealed values name their
// key, so that two keys can be in use while one replaces the other.
type keyFile struct {
	Format int         `json:"format"`
	Active uint32      `json:"active"` // id of the key that seals
	Keys   []sealedKey `json:"keys"`   // all keys that open
	Digest []byte      `json:"digest"` // for digests of CD keys; stays when the others change
}

type sealedKey struct {
	ID  uint32 `json:"id"`
	Key []byte `json:"key"`
}

// keyring is a key file ready for use. It is not changed once in
// use.
type keyring struct {
	file  keyFile
	aeads map[uint32]cipher.AEAD
}

func newKeyring(f keyFile) (*keyring, error) {
	if f.Format != keyFormat || len(f.Keys) == 0 || len(f.Keys) > maxKeys || len(f.Digest) != keyLen {
		return nil, ErrKeyFile
	}
	r := &keyring{file: f, aeads: make(map[uint32]cipher.AEAD, len(f.Keys))}
	for _, k := range f.Keys {
		if len(k.Key) != keyLen || r.aeads[k.ID] != nil {
			return nil, ErrKeyFile
		}
		block, err := aes.NewCipher(k.Key)
		if err != nil {
			return nil, err
		}
		if r.aeads[k.ID], err = cipher.NewGCM(block); err != nil {
			return nil, err
		}
	}
	if r.aeads[f.Active] == nil {
		return nil, ErrKeyFile
	}
	return r, nil
}

// randomKey returns a new key.
func randomKey() []byte {
	key := make([]byte, keyLen)
	_, _ = rand.Read(key) // never fails
	return key
}

// firstKeys returns the keyring of a store without accounts.
func firstKeys() (*keyring, error) {
	return newKeyring(keyFile{
		Format: keyFormat, Active: 1, Keys: []sealedKey{{1, randomKey()}}, Digest: randomKey(),
	})
}

// withNewKey returns a keyring that seals with a new key and opens with the
// old ones too.
func (r *keyring) withNewKey() (*keyring, error) {
	f := r.file
	f.Keys = slices.Clone(f.Keys)
	f.Active = slices.MaxFunc(f.Keys, func(a, b sealedKey) int { return int(a.ID) - int(b.ID) }).ID + 1
	f.Keys = append(f.Keys, sealedKey{f.Active, randomKey()})
	return newKeyring(f)
}

// activeOnly returns a keyring without the old keys.
func (r *keyring) activeOnly() (*keyring, error) {
	f := r.file
	f.Keys = slices.DeleteFunc(slices.Clone(f.Keys), func(k sealedKey) bool { return k.ID != f.Active })
	return newKeyring(f)
}

// alsoOpens adds to r the keys of old that its file no longer has: a login may
// have read an account just before it was sealed again.
func (r *keyring) alsoOpens(old *keyring) {
	for id, aead := range old.aeads {
		if r.aeads[id] == nil {
			r.aeads[id] = aead
		}
	}
}

// KeyFingerprint returns a text that identifies the key file of a store, and stays when the sealing
// key is rotated. It says nothing about the keys.
func (s *Service) KeyFingerprint() string {
	sum := sha256.Sum256(append([]byte("respawnd key file\x00"), s.keys.Load().file.Digest...))
	return hex.EncodeToString(sum[:8])
}

// readKeys reads a key file. For a missing one the error matches
// fs.ErrNotExist.
func readKeys(path string) (*keyring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrKeyExposed)
	}
	if info.Size() > maxKeyFile {
		return nil, fmt.Errorf("%s: %w", path, ErrKeyFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f keyFile
	if json.Unmarshal(text, &f) != nil { // its error would quote the file
		return nil, fmt.Errorf("%s: %w", path, ErrKeyFile)
	}
	r, err := newKeyring(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// write writes the key file. With fresh it refuses to replace a file.
func (r *keyring) write(path string, fresh bool) error {
	text, err := json.Marshal(r.file)
	if err != nil {
		return err
	}
	return durable.WriteSecret(path, append(text, '\n'), !fresh)
}
