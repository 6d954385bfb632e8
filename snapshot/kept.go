package snapshot

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"

	"github.com/respawnd/respawnd/internal/durable"
)

// Keep writes an index and the servers that belong to it into a folder, which has nothing else. A
// crash leaves what was there before, or both.
func Keep(dir string, text []byte, i *Index, servers []byte) error {
	if !isPlain(i.Servers) {
		return ErrIndex
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := durable.WriteSecret(filepath.Join(dir, i.Servers), servers, true); err != nil {
		return err
	}
	if err := durable.WriteSecret(filepath.Join(dir, IndexName), text, true); err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	errs := []error{err}
	for _, f := range files {
		if f.Name() != IndexName && f.Name() != i.Servers {
			errs = append(errs, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return errors.Join(errs...)
}

// Kept returns what Keep wrote last, if a key signed it.
func Kept(dir string, key ed25519.PublicKey) (i *Index, servers []byte, err error) {
	text, err := os.ReadFile(filepath.Join(dir, IndexName))
	if err != nil {
		return nil, nil, err
	}
	if i, err = Open(text, key); err != nil {
		return nil, nil, err
	}
	if !isPlain(i.Servers) {
		return nil, nil, ErrIndex
	}
	if servers, err = os.ReadFile(filepath.Join(dir, i.Servers)); err != nil {
		return nil, nil, err
	}
	return i, servers, i.Files[i.Servers].Check(servers)
}

// isPlain reports whether a name is that of a file which can stand beside the index.
func isPlain(name string) bool {
	return isName(name) && filepath.Base(name) == name && name != IndexName
}
