package seal

import (
	"crypto/cipher"
	"crypto/rand"
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
	// ErrKeyFile means that the key file is not valid.
	ErrKeyFile = errors.New("not a sealing key file, or damaged; \"respawnd restore\" brings back that of a backup")
	// ErrKeyExposed means that others than the owner may read the key file.
	ErrKeyExposed = errors.New("the sealing key is readable by others; set its mode to 0600")
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
	Format int          `json:"format"`
	Active uint32       `json:"active"` // id of the key that seals
	Keys   []sealingKey `json:"keys"`   // all keys that open
	Digest []byte       `json:"digest"` // the one of MAC; stays when the others change
}

type sealingKey struct {
	ID  uint32 `json:"id"`
	Key []byte `json:"key"`
}

// keyring is a key file ready for use, and not changed once in use.
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
		var err error
		if r.aeads[k.ID], err = newAEAD(k.Key); err != nil {
			return nil, err
		}
	}
	if r.aeads[f.Active] == nil {
		return nil, ErrKeyFile
	}
	return r, nil
}

func randomKey() []byte {
	key := make([]byte, keyLen)
	_, _ = rand.Read(key) // never fails
	return key
}

// Create makes the file with new keys. It does not replace one.
func Create(path string) (*Keys, error) {
	f := keyFile{Format: keyFormat, Active: 1, Keys: []sealingKey{{1, randomKey()}}, Digest: randomKey()}
	if err := f.write(path, true); err != nil {
		return nil, err
	}
	return Read(path)
}

// withNewKey returns a keyring that seals with a new key and opens with the
// old ones too.
func (r *keyring) withNewKey() (*keyring, error) {
	f := r.file
	f.Keys = slices.Clone(f.Keys)
	f.Active = slices.MaxFunc(f.Keys, func(a, b sealingKey) int { return int(a.ID) - int(b.ID) }).ID + 1
	f.Keys = append(f.Keys, sealingKey{f.Active, randomKey()})
	return newKeyring(f)
}

// activeOnly returns a keyring without the old keys.
func (r *keyring) activeOnly() (*keyring, error) {
	f := r.file
	f.Keys = slices.DeleteFunc(slices.Clone(f.Keys), func(k sealingKey) bool { return k.ID != f.Active })
	return newKeyring(f)
}

// Read returns the keys of a file. For a missing one the error matches
// fs.ErrNotExist, for others that cannot be used ErrKeyFile or ErrKeyExposed.
func Read(path string) (*Keys, error) {
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
	k := &Keys{path: path}
	k.ring.Store(r)
	return k, nil
}

// write writes the file. With fresh it refuses to replace one.
func (f *keyFile) write(path string, fresh bool) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return durable.WriteSecret(path, append(text, '\n'), !fresh)
}
