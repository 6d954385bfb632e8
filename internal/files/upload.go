package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/respawnd/respawnd/internal/durable"
	"github.com/respawnd/respawnd/storage"
)

// partPrefix begins the names of contents that are not complete.
const partPrefix = ".upload-"

// Upload is a file that is being written. Its methods must not be called
// concurrently. Either Commit or Discard ends it; calling Discard after Commit does
// nothing.
type Upload struct {
	table *Table
	owner storage.ProfileID
	limit int64 // reserved bytes
	size  int64
	hash  hash.Hash
	file  *os.File // nil: ended
}

var _ io.Writer = (*Upload)(nil)

// Begin reserves room for a file of at most size bytes, below 0 for the largest that is
// allowed, and opens it. The error is ErrTooLarge or ErrQuota.
func (t *Table) Begin(ctx context.Context, owner storage.ProfileID, size int64) (*Upload, error) {
	own, err := t.store.FileUsage(ctx, owner)
	if err != nil {
		return nil, err
	}
	all, err := t.store.FileUsage(ctx, 0)
	if err != nil {
		return nil, err
	}
	if size, err = t.reserve(owner, size, own, all); err != nil {
		return nil, err
	}
	u := &Upload{table: t, owner: owner, limit: size, hash: sha256.New()}
	if u.file, err = t.part(); err != nil {
		t.release(owner, size)
		return nil, err
	}
	return u, nil
}

// reserve reserves size bytes for a profile, given the stored usage, and returns how
// many.
func (t *Table) reserve(owner storage.ProfileID, size int64, own, all storage.FileUsage) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if size < 0 {
		size = t.limits.File
	}
	if size > t.limits.File {
		return 0, ErrTooLarge
	}
	for _, k := range []struct {
		key          storage.ProfileID
		stored, most storage.FileUsage
	}{{owner, own, t.limits.Player}, {0, all, t.limits.Total}} {
		waiting := t.reserved[k.key]
		if !sum(k.stored, waiting).With(size).Within(k.most) {
			return 0, ErrQuota
		}
	}
	t.reserved[owner], t.reserved[0] = t.reserved[owner].With(size), t.reserved[0].With(size)
	return size, nil
}

func sum(a, b storage.FileUsage) storage.FileUsage {
	return storage.FileUsage{Files: a.Files + b.Files, Bytes: a.Bytes + b.Bytes}
}

// release ends a reservation.
func (t *Table) release(owner storage.ProfileID, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range []storage.ProfileID{owner, 0} {
		if r := sum(t.reserved[key], storage.FileUsage{Files: -1, Bytes: -size}); r.Files > 0 {
			t.reserved[key] = r
		} else {
			delete(t.reserved, key)
		}
	}
}

// part creates the file of an upload, so that no sweep removes it.
func (t *Table) part() (*os.File, error) {
	if err := t.makeFolder(); err != nil {
		return nil, err
	}
	t.folder.RLock() // a sweep must not see the file before it is known
	defer t.folder.RUnlock()
	f, err := os.CreateTemp(t.dir, partPrefix+"*") // of mode 0600
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts[filepath.Base(f.Name())] = true
	return f, nil
}

// makeFolder creates the folder of contents if it is missing.
func (t *Table) makeFolder() error {
	if _, err := os.Stat(t.dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(t.dir))
}

// Write implements io.Writer. The error is ErrTooLarge for more bytes than were
// reserved.
func (u *Upload) Write(p []byte) (int, error) {
	if u.size+int64(len(p)) > u.limit {
		return 0, ErrTooLarge
	}
	n, err := u.file.Write(p)
	u.hash.Write(p[:n])
	u.size += int64(n)
	return n, err
}

// Commit stores the file. It exists, and is on the disk, when Commit returns nil. The
// error is ErrQuota, or that of storage.Files.
func (u *Upload) Commit(ctx context.Context, game, name string) (storage.File, error) {
	defer u.Discard()
	if err := errors.Join(u.file.Sync(), u.file.Close()); err != nil { // Windows renames no open file
		return storage.File{}, err
	}
	f := storage.File{
		Game: game, Owner: u.owner, Name: name, Size: u.size, Hash: hex.EncodeToString(u.hash.Sum(nil)), Created: time.Now(),
	}
	stored, err := u.table.create(ctx, u.file.Name(), f)
	if err == nil {
		return stored, nil
	}
	t := u.table
	t.folder.Lock()
	defer t.folder.Unlock()
	return storage.File{}, errors.Join(err, t.drop(context.WithoutCancel(ctx), f.Hash))
}

// create gives a content its name and stores its file. Several uploads may do that at
// once, so that they share the writes of the store. After an error the content may have
// its name.
func (t *Table) create(ctx context.Context, part string, f storage.File) (storage.File, error) {
	t.folder.RLock()
	defer t.folder.RUnlock()
	if err := t.contents.keep(ctx, part, f.Hash, f.Size); err != nil {
		return storage.File{}, err
	}
	t.mu.Lock()
	limits := t.limits
	t.mu.Unlock()
	stored, err := t.store.CreateFile(ctx, f, limits.Player, limits.Total)
	if errors.Is(err, storage.ErrFull) {
		err = fmt.Errorf("%w: %w", ErrQuota, err)
	}
	if err != nil {
		return storage.File{}, err
	}
	if err := t.contents.confirm(context.WithoutCancel(ctx), part, f.Hash, f.Size); err != nil {
		return storage.File{}, errors.Join(err, t.store.DeleteFile(context.WithoutCancel(ctx), stored.ID))
	}
	return stored, nil
}

// Discard ends the upload without a file, if it has not ended.
func (u *Upload) Discard() {
	if u.file == nil {
		return
	}
	_ = u.file.Close() // the file is synced, or not wanted
	path := u.file.Name()
	u.file = nil
	if err := os.Remove(path); err == nil || errors.Is(err, fs.ErrNotExist) {
		u.table.mu.Lock()
		delete(u.table.parts, filepath.Base(path))
		u.table.mu.Unlock()
	}
	u.table.release(u.owner, u.limit)
}
