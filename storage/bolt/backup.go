package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// Backup writes the whole file as it is at this moment to w, while the engine is
// in use, after the file was checked, and returns the number of bytes. The output is a storage file. A
// change that makes the file grow waits until Backup is done, so w should be a
// local file, not a slow connection.
func (e *Engine) Backup(ctx context.Context, w io.Writer) (int64, error) {
	if err := e.check.wait(ctx); err != nil {
		return 0, fmt.Errorf("backup of %s: %w", e.path, err)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	var n int64
	// Not through e.view: this reads the file, not the mapped pages, and a
	// panic of w is not damage of the file.
	err := e.db.View(func(tx *bbolt.Tx) (err error) {
		n, err = tx.WriteTo(writerUntil{ctx, w})
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return n, fmt.Errorf("backup of %s: %w", e.path, closedError(err))
	}
	return n, nil
}

// writerUntil is a writer that ends with its context.
type writerUntil struct {
	ctx context.Context
	w   io.Writer
}

// Write writes p unless the context is over.
func (u writerUntil) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}

// copyTo writes a backup to a file of mode 0600. The file is complete and on
// disk before it gets its name.
func (e *Engine) copyTo(ctx context.Context, path string) (err error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	name := filepath.Base(path)
	f, err := dir.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = e.Backup(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, dir.Remove(name+".tmp"))
	}
	return dir.Rename(name+".tmp", name)
}

// Verify reads the whole file at path without changing it and reports the first
// faults: invalid pages, and values that cannot be read. nil means that Open
// with this layout will accept the file. The errors match ErrInUse, ErrNotOurs, ErrNewer or
// engine.ErrDamaged.
func Verify(path string, layout engine.Layout) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	db, err := openFile(path, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	defer catchDamage(path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	err = db.View(func(tx *bbolt.Tx) error { return verify(tx, path, info.Size(), &layout) })
	if isDamage(err) {
		return damagedFile(path, err)
	}
	if err != nil {
		return fmt.Errorf("storage file %s: %w", path, err)
	}
	return nil
}

// verify checks a file and its values.
func verify(tx *bbolt.Tx, path string, size int64, layout *engine.Layout) error {
	found, old, err := inspect(tx, path, size, layout, nil, nil)
	switch {
	case err != nil:
		return err
	case old.empty:
		return ErrNotOurs
	case found.oneHead:
		return errOneHead
	case old.schema < layout.Version:
		return nil
	}
	return errors.Join(found.lost.err(), found.bad.err())
}

// inspect checks, in this order: the length of the file, the structure of its pages, see
// checkTree, and that it is a storage file of a version that is known.
func inspect(tx *bbolt.Tx, path string, size int64, layout *engine.Layout, only func(bucket string) bool, stop <-chan struct{},
) (found *contents, old header, err error) {
	if size < tx.Size() {
		return nil, old, fmt.Errorf("%w: %d of %d bytes are there", engine.ErrDamaged, size, tx.Size())
	}
	if found, err = checkTree(tx, path, newContents(layout), only, stop); err == nil {
		old, err = readHeader(tx)
	}
	if err == nil && old.schema > layout.Version {
		err = fmt.Errorf("%w: schema %d, this version knows up to %d", ErrNewer, old.schema, layout.Version)
	}
	return found, old, err
}
