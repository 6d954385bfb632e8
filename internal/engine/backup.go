package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/storage/copying"
	tables "github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/records"
)

// BackupWork returns the path in a data folder of the work files of a backup.
func BackupWork(dataDir string) string { return filepath.Join(dataDir, "backup") }

// Backup implements Store: it copies the database as it is now into a file of
// storage/bolt. Others may change the database meanwhile.
func (d *database) Backup(ctx context.Context, w io.Writer) (n int64, err error) {
	dir, err := backup.PartDir(BackupWork(d.dir))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, FileName)
	if err := d.copyTo(ctx, path); err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.Copy(w, f)
}

// copyTo copies the database to a new file.
func (d *database) copyTo(ctx context.Context, path string) (err error) {
	from, err := d.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := bolt.Open(ctx, path, bolt.Options{Layout: records.Layout(), NoSync: true}) // only its copy must survive
	if err != nil {
		return err
	}
	_, err = copyTables(ctx, from, to, copying.Options{Source: "backup", Damaged: func(tables.Table, []byte, error) {}})
	return errors.Join(err, to.Close())
}
