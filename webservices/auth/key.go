package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/respawnd/respawnd/internal/durable"
)

// KeyName is the name of the service key in the data folder and in a backup.
const KeyName = "webservices.key"

const (
	keyBits  = 1024 // games have room for no other length
	keyBytes = keyBits / 8

	maxKeyFile = 16 << 10
	keyType    = "RSA PRIVATE KEY"
)

// Errors of OpenKey and ReadKey.
var (
	ErrKeyFile    = errors.New("not an RSA key of 1024 bits with the exponent 65537, in PEM and PKCS#1")
	ErrKeyExposed = errors.New("the service key is readable by others; set its mode to 0600")
)

// Key is the service key, with the values derived from it. It is never changed.
type Key struct {
	private *rsa.PrivateKey
	mac     []byte // for serverdata
	peer    func() *peer
}

// ReadKey reads a key file. For a missing one the error matches fs.ErrNotExist.
func ReadKey(path string) (*Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrKeyExposed)
	}
	if !info.Mode().IsRegular() || info.Size() > maxKeyFile {
		return nil, fmt.Errorf("%s: %w", path, ErrKeyFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// OpenKey reads a key file, and makes it if it is missing.
func OpenKey(path string) (*Key, error) {
	k, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, err
	}
	if err := writeKey(path, private); err != nil {
		return nil, err
	}
	return newKey(private), nil
}

// parseKey returns the key in the text of a key file. The error quotes nothing
// of it.
func parseKey(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyType {
		return nil, ErrKeyFile
	}
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil || private.N.BitLen() != keyBits || private.E != exponent || len(private.Primes) != 2 {
		return nil, ErrKeyFile
	}
	return newKey(private), nil
}

func newKey(private *rsa.PrivateKey) *Key {
	secret := private.D.Bytes()
	seed := derive(secret, "respawnd peer key")
	return &Key{
		private: private, mac: derive(secret, "respawnd certificate"),
		peer: sync.OnceValue(func() *peer { return newPeer(seed) }),
	}
}

// derive returns a secret of 32 bytes that follows from another one.
func derive(secret []byte, purpose string, more ...[]byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose))
	for _, m := range more {
		mac.Write(m)
	}
	return mac.Sum(nil)
}

// Modulus returns the modulus as games have it: 256 hex digits.
func (k *Key) Modulus() string { return fmt.Sprintf("%0*X", 2*keyBytes, k.private.N) }

// Public returns the public part, which games have.
func (k *Key) Public() *rsa.PublicKey { return &k.private.PublicKey }

// writeKey writes a key file under another name, syncs it and renames it to path,
// which must not exist.
func writeKey(path string, private *rsa.PrivateKey) error {
	block := pem.Block{Type: keyType, Bytes: x509.MarshalPKCS1PrivateKey(private)}
	return durable.WriteSecret(path, pem.EncodeToMemory(&block), false)
}

// Explain describes to an operator how games are patched for a key.
func (k *Key) Explain() string {
	return strings.NewReplacer("{modulus}", k.Modulus(), "{original}", OriginalModulus).Replace(explanation)
}
