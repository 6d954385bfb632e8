package admin

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// minToken is the shortest token that is accepted from a file, in characters.
const minToken = 16

// LoadToken reads the admin token from a file. If the file is missing, it makes
// one with 256 random bits, readable only by its owner. The file gets its name
// only when it is complete and on disk: a truncated one would be rejected at
// every start.
func LoadToken(path string) (token string, created bool, err error) {
	token, err = ReadToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never returns an error
	token = hex.EncodeToString(random[:])
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", false, err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".new-*") // of mode 0600
	if err != nil {
		return "", false, err
	}
	_, err = f.WriteString(token + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", false, errors.Join(err, os.Remove(f.Name()))
	}
	return token, true, nil
}

// ReadToken reads the admin token from a file.
func ReadToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	b = bytes.TrimSpace(b)
	if len(b) < minToken {
		return "", fmt.Errorf("%s: a token has at least %d characters; remove the file and start again to get a new one", path, minToken)
	}
	return string(b), nil
}
