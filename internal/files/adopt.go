package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/respawnd/respawnd/storage"
)

// adopt stores contents of the folder in a shared store that has their files but not them:
// the descriptions were copied from a store whose contents are in the folder, or restored.
// It adds them to there. The folder stays as it is, so that the other store can be used
// again. t.folder is held.
func (t *Table) adopt(ctx context.Context, there map[string]bool) (adopted int, err error) {
	if _, ok := t.contents.(shared); !ok {
		return 0, nil
	}
	entries, err := os.ReadDir(t.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var errs []error
	for _, e := range entries {
		hash := e.Name()
		if there[hash] || storage.CheckFileHash(hash) != nil || !e.Type().IsRegular() {
			continue
		}
		used, err := t.store.HasContent(ctx, hash)
		if err != nil {
			return adopted, errors.Join(append(errs, err)...)
		}
		if !used {
			continue
		}
		if err := t.adoptOne(ctx, hash); err != nil {
			errs = append(errs, err)
			continue
		}
		there[hash] = true
		adopted++
	}
	return adopted, errors.Join(errs...)
}

// adoptOne stores a content of the folder if it is the one with the hash.
func (t *Table) adoptOne(ctx context.Context, hash string) error {
	path := filepath.Join(t.dir, hash)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, io.LimitReader(f, storage.MaxFileSize+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != hash {
		return fmt.Errorf("%s is damaged: it differs from its checksum", path)
	}
	return t.contents.keep(ctx, path, hash, size)
}
