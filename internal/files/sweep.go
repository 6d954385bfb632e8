package files

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/respawnd/respawnd/internal/durable"
	"github.com/respawnd/respawnd/storage"
)

// PackName is the name in a backup of all contents.
const PackName = "files.tar"

// ErrPack reports a pack of contents that is damaged.
var ErrPack = errors.New("the contents of files in the backup are damaged")

// Swept is the result of a sweep.
type Swept struct {
	Removed int // contents that no file has, and unfinished uploads
	Lost    int // files without their content
}

// Sweep removes what belongs to no file, such as the contents of a deleted account, or
// the part of an upload that a killed process was writing. Names that it does not know
// stay.
func (t *Table) Sweep(ctx context.Context) (Swept, error) {
	t.folder.Lock()
	defer t.folder.Unlock()
	return t.sweep(ctx)
}

// sweep is Sweep. t.folder is held.
func (t *Table) sweep(ctx context.Context) (s Swept, err error) {
	entries, err := os.ReadDir(t.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	there := make(map[string]bool)
	var errs []error
	for _, e := range entries {
		name := e.Name()
		over := strings.HasPrefix(name, partPrefix) && e.Type().IsRegular() && !t.writing(name)
		if storage.CheckFileHash(name) == nil {
			there[name] = true
			used, err := t.store.HasContent(ctx, name)
			if err != nil {
				return s, err
			}
			over = !used
		}
		if !over {
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
		s.Removed++
	}
	for f, err := range t.store.Files(ctx, 0) {
		if err != nil && !errors.Is(err, storage.ErrDamaged) {
			return s, errors.Join(append(errs, err)...)
		}
		if err == nil && !there[f.Hash] {
			s.Lost++
		}
	}
	return s, errors.Join(errs...)
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

// Pack writes all contents as a tar archive. It is called while Hold is in force. empty
// reports that there were none.
func (t *Table) Pack(ctx context.Context, w io.Writer) (empty bool, err error) {
	entries, err := os.ReadDir(t.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	out := tar.NewWriter(w)
	empty = true
	for _, e := range entries {
		if storage.CheckFileHash(e.Name()) != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if err := t.packOne(out, e.Name()); err != nil {
			return false, err
		}
		empty = false
	}
	return empty, out.Close()
}

func (t *Table) packOne(out *tar.Writer, hash string) error {
	in, err := os.Open(t.path(hash))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: hash, Size: info.Size(), Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(out, in, info.Size())
	return err
}

// Unpack writes the contents of a pack to the folder dir, which must exist, and checks
// each against its name. They are on the disk when it returns nil.
func Unpack(r io.Reader, dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return durable.SyncDir(dir)
		}
		if err != nil || storage.CheckFileHash(h.Name) != nil || h.Typeflag != tar.TypeReg || h.Size > storage.MaxFileSize {
			return ErrPack
		}
		if err := unpackOne(in, root, h.Name); err != nil {
			return err
		}
	}
}

func unpackOne(in io.Reader, dir *os.Root, hash string) (err error) {
	out, err := dir.OpenFile(hash, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(in, storage.MaxFileSize)); err != nil {
		return fmt.Errorf("%w: %w", ErrPack, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != hash {
		return fmt.Errorf("%w: %s differs from its checksum", ErrPack, hash)
	}
	return out.Sync()
}
