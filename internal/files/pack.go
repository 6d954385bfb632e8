package files

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/respawnd/respawnd/internal/durable"
	"github.com/respawnd/respawnd/storage"
)

// PackName is the name in a backup of all contents.
const PackName = "files.tar"

// ErrPack reports a pack of contents that is damaged.
var ErrPack = errors.New("the contents of files in the backup are damaged")

// Pack writes all contents as a tar archive. It is called while Hold is in force. empty
// reports that there were none.
func (t *Table) Pack(ctx context.Context, w io.Writer) (empty bool, err error) {
	out := tar.NewWriter(w)
	empty = true
	for c, err := range t.contents.all(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = t.packOne(ctx, out, c)
		}
		if err != nil {
			return false, err
		}
		empty = false
	}
	return empty, out.Close()
}

func (t *Table) packOne(ctx context.Context, out *tar.Writer, c storage.Content) error {
	in, err := t.contents.open(ctx, c.Hash)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := out.WriteHeader(&tar.Header{Name: c.Hash, Size: c.Size, Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(out, in, c.Size)
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

// CopyTo stores in another table the contents that it lacks, checks each against its hash,
// and returns how many those were. The files themselves are not copied. begin is called with their
// size, and returns what the bytes that were copied are written to.
func (t *Table) CopyTo(ctx context.Context, to *Table, begin func(size int64) io.Writer) (copied int, err error) {
	there := make(map[string]bool)
	for c, err := range to.contents.all(ctx) {
		if err != nil {
			return 0, err
		}
		there[c.Hash] = true
	}
	var missing []storage.Content
	size := int64(0)
	for c, err := range t.contents.all(ctx) {
		if err != nil {
			return 0, err
		}
		if c.Used && !there[c.Hash] {
			missing, size = append(missing, c), size+c.Size
		}
	}
	progress := begin(size)
	for _, c := range missing {
		if err := ctx.Err(); err != nil {
			return copied, err
		}
		content, err := t.contents.open(ctx, c.Hash)
		if err != nil {
			return copied, err
		}
		err = errors.Join(to.take(ctx, io.TeeReader(content, progress), c), content.Close())
		if err != nil {
			return copied, fmt.Errorf("content %s: %w", c.Hash, err)
		}
		copied++
	}
	return copied, nil
}

// take stores a content that is no upload. The error is ErrPack if it is another one.
func (t *Table) take(ctx context.Context, content io.Reader, c storage.Content) (err error) {
	part, err := t.part()
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(part.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.parts, filepath.Base(part.Name()))
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(part, sum), io.LimitReader(content, storage.MaxFileSize+1))
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	if n != c.Size || hex.EncodeToString(sum.Sum(nil)) != c.Hash {
		return fmt.Errorf("%w: %s differs from its checksum", ErrPack, c.Hash)
	}
	t.folder.RLock()
	defer t.folder.RUnlock()
	return t.contents.keep(ctx, part.Name(), c.Hash, n)
}

// Unpack stores the contents of a pack and checks each against its name.
func (t *Table) Unpack(ctx context.Context, r io.Reader) error {
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || storage.CheckFileHash(h.Name) != nil || h.Typeflag != tar.TypeReg || h.Size > storage.MaxFileSize {
			return ErrPack
		}
		if err := t.take(ctx, in, storage.Content{Hash: h.Name, Size: h.Size}); err != nil {
			return err
		}
	}
}
