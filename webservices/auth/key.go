package auth

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
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

// OriginalModulus is the modulus that games were built with, as the text that they hold:
// 256 hex digits. Its private key is not public.
const OriginalModulus = "BF05D63E93751AD4A59A4A7389CF0BE8A22CCDEEA1E7F12C062D6E194472EFDA5184CCECEB4FBADF5EB1D7ABFE91181453972AA971F624AF9BA8F0F82E2869FB" +
	"7D44BDE8D56EE50977898F3FEE75869622C4981F07506248BD3D092E8EA05C12B2FA37881176084C8F8B8756C4722CDC57D2AD28ACD3AD85934FB48D6B2D2027"

// explanation is the text of Key.Explain.
const explanation = `Games encrypt passwords with the key of the service, and check certificates with it. They hold its
modulus as a text of 256 hex digits, and its exponent as the text 010001. The private part of the original
key is not public, so the program of a game must be patched, in one of two ways.

1. webservices.rsa_mode: keypair, the default.
   Replace the text
     {original}
   in the program of the game by the modulus of this server:
     {modulus}
   The length stays the same. Players need the same patch for every server with this key: keep a copy of the
   key file (it is in backups), and move it with the data folder.

2. webservices.rsa_mode: identity.
   Replace the exponent 010001 by 000001, beside the modulus. Games with this patch work with every server in
   this mode, but passwords can be read on the way, and certificates that players show to each other can be
   forged. This server accepts its own only.

Games that ask at https:// addresses also need webservices.tls_listen, or http:// in place of https:// in
their program.
`

// decodeValue returns the block in which a password was sent. ok is false if the
// value is not 256 hex digits.
func decodeValue(value string) (block []byte, ok bool) {
	block, err := hex.DecodeString(value)
	return block, err == nil && len(block) == keyBytes
}

// minPadding is the least padding of a block in bytes.
const minPadding = 8

// unpad returns the content of a block of type 2.
func unpad(block []byte) (data []byte, ok bool) {
	if len(block) != keyBytes || block[0] != 0 || block[1] != 2 {
		return nil, false
	}
	end := bytes.IndexByte(block[2:], 0)
	if end < minPadding {
		return nil, false
	}
	return block[2+end+1:], true
}

// decrypt returns the password in a block of the mode keypair. ok is false if there
// is none. That includes a block that can be read without the key, from a game with the
// patch for the mode identity: decrypted, it has no padding. It must not be looked for
// in the block itself: one of 64,000 encrypted blocks looks like it by chance.
func (k *Key) decrypt(block []byte) (password []byte, ok bool) {
	password, err := rsa.DecryptPKCS1v15(nil, k.private, block)
	return password, err == nil
}
