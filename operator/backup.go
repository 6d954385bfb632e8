package operator

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/respawnd/respawnd/internal/backup"
)

// BackupWork returns the path in a data folder of the work files of a backup.
func BackupWork(dataDir string) string { return filepath.Join(dataDir, "backup") }

// Backup writes everything that a new machine needs to continue. The store is copied into the data
// folder first, so that a slow reader of the backup delays no writer. backup.SweepDirs removes at
// BackupWork the files that a killed process left there.
var Backup = NewStream(Operation{
	Name: "backup", Route: "GET /backup", What: "Write all data and secrets to one file, to continue on another machine", Type: "application/x-tar",
}, func(ctx context.Context, l *Local, _ None, w io.Writer) (leftOut int, err error) {
	dir, err := backup.PartDir(BackupWork(l.DataDir))
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var paths []string
	err = l.whileKeyStays(ctx, func() (err error) {
		paths, err = l.collect(ctx, dir)
		return err
	})
	if err != nil {
		return 0, err
	}
	return 0, backup.Write(w, l.Version, time.Now(), paths)
})

func (l *Local) copyStore(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := l.Store.Backup(ctx, f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// whileKeyStays runs f while the key that seals passwords cannot change. Where no
// daemon runs, the process owns the store, and the key with it.
func (l *Local) whileKeyStays(ctx context.Context, f func() error) error {
	if l.Registry == nil || l.OpenAccounts == nil {
		return f()
	}
	service, err := l.OpenAccounts(ctx)
	if err != nil {
		return err
	}
	return service.Keys.WhileFileStays(f)
}

// collect copies the files of a backup to dir and returns their paths.
func (l *Local) collect(ctx context.Context, dir string) ([]string, error) {
	release := l.PlayerFiles.Hold() // the copy of the store may have files that are deleted meanwhile
	defer func() { _ = release(ctx) }()
	copied := filepath.Join(dir, l.StoreName)
	if err := l.copyStore(ctx, copied); err != nil {
		return nil, err
	}
	paths := []string{copied}
	switch pack, err := l.packFiles(ctx, dir); {
	case err != nil:
		return nil, err
	case pack != "":
		paths = append(paths, pack)
	}
	for name, path := range l.Files {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		named := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(named, b, 0o600)
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, named)
	}
	return paths, nil
}
