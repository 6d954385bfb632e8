package snapshot

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/respawnd/respawnd/internal/durable"
)

// KeyFile is the file in the data folder that holds the secret key, and its name in a backup.
const KeyFile = "snapshot.key"

// LoadKey is ReadKey, but makes a key if there is none.
func LoadKey(dataDir string) (ed25519.PrivateKey, error) {
	key, err := ReadKey(dataDir)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	_, key, _ = ed25519.GenerateKey(nil) // never returns an error
	text := base64.StdEncoding.EncodeToString(key.Seed()) + "\n"
	return key, durable.WriteSecret(filepath.Join(dataDir, KeyFile), []byte(text), false)
}

// ReadKey reads the secret key of a data folder.
func ReadKey(dataDir string) (ed25519.PrivateKey, error) {
	path := filepath.Join(dataDir, KeyFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New(path + ": not the key of snapshots")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// Public returns the public key in the form in which mirrors are given it: 43 letters, digits,
// hyphens and underscores.
func Public(key ed25519.PrivateKey) string {
	return base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// ParsePublic reads a key in the form of Public.
func ParsePublic(text string) (ed25519.PublicKey, error) {
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("not a key of snapshots: write the 43 characters that `respawnd snapshot key` prints")
	}
	return key, nil
}
