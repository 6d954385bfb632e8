package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/respawnd/respawnd/storage"
)

// Swept is the result of a sweep.
type Swept struct {
	Removed int // contents that no file has, and unfinished uploads
	Lost    int // files without their content
	Adopted int // contents that a shared store took from the folder
}

// Sweep removes data that belongs to no file, such as the contents of a deleted account, or
// the part of an upload that a killed process was writing. Names that it does not know
// stay.
func (t *Table) Sweep(ctx context.Context) (Swept, error) {
	t.folder.Lock()
	defer t.folder.Unlock()
	return t.sweep(ctx)
}

// sweep is Sweep. t.folder is held.
func (t *Table) sweep(ctx context.Context) (s Swept, err error) {
	there := make(map[string]bool)
	var errs []error
	for c, err := range t.contents.all(ctx) {
		if err != nil {
			return s, errors.Join(append(errs, err)...)
		}
		there[c.Hash] = true
		switch {
		case c.Used:
		case t.held > 0:
			t.behind = true
		default:
			dropped, err := t.contents.drop(ctx, c.Hash)
			if err != nil {
				errs = append(errs, err)
			}
			if dropped {
				s.Removed++
			}
		}
	}
	if s.Adopted, err = t.adopt(ctx, there); err != nil {
		errs = append(errs, err)
	}
	parts, err := t.sweepParts()
	s.Removed += parts
	errs = append(errs, err)
	for f, err := range t.store.Files(ctx, 0) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return s, errors.Join(append(errs, err)...)
		}
		if err != nil || there[f.Hash] {
			continue
		}
		switch lost, err := t.lost(ctx, f.Hash); {
		case err != nil:
			return s, errors.Join(append(errs, err)...)
		case lost:
			s.Lost++
		}
	}
	return s, errors.Join(errs...)
}

// lost reports whether a content is missing. Another node may have stored it after a
// sweep looked at all.
func (t *Table) lost(ctx context.Context, hash string) (bool, error) {
	content, err := t.contents.open(ctx, hash)
	switch {
	case err == nil:
		return false, content.Close()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, storage.ErrNotFound):
		return true, nil
	}
	return false, err
}

// sweepParts removes abandoned uploads and returns how many there
// were. t.folder is held.
func (t *Table) sweepParts() (removed int, err error) {
	entries, err := os.ReadDir(t.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, partPrefix) || !e.Type().IsRegular() || t.writing(name) {
			continue
		}
		if t.held > 0 {
			t.behind = true
			continue
		}
		if err := os.Remove(filepath.Join(t.dir, name)); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

// writing reports whether an upload has the part with a name.
func (t *Table) writing(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.parts[name]
}

// Hold keeps all contents until release is called, also those of files that are deleted
// meanwhile: a backup copies them after the store.
func (t *Table) Hold() (release func(context.Context) error) {
	t.folder.Lock()
	defer t.folder.Unlock()
	t.held++
	return func(ctx context.Context) error {
		t.folder.Lock()
		defer t.folder.Unlock()
		if t.held--; t.held > 0 || !t.behind {
			return nil
		}
		t.behind = false
		_, err := t.sweep(context.WithoutCancel(ctx))
		return err
	}
}
