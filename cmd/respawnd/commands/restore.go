package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/accounts/seal"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/internal/files"
	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/storage/records"
)

func restoreCommand(con *cli.Console) *cobra.Command {
	return con.Configured("restore FILE", "Restore a backup; the daemon must not be running", cobra.ExactArgs(1),
		func(ctx context.Context, cfg *services.Config, args []string) error {
			return restore(ctx, con, cfg, args[0])
		})
}

// restore checks the whole backup, then puts its files in place. Existing files
// are kept beside them.
func restore(ctx context.Context, con *cli.Console, cfg *services.Config, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	if err := notRunning(ctx, cfg); err != nil {
		return err
	}
	work := filepath.Join(cfg.DataDir, "restore")
	if _, err := backup.SweepDirs(work); err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	dir, err := backup.PartDir(work)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	target := daemon.Files(cfg)
	target[daemon.StoreName] = daemon.StorePath(cfg)
	target[files.PackName] = filepath.Join(cfg.DataDir, files.Folder)
	room := func(bytes int64) error { return checkSpace(bytes, in, cfg.DataDir) }
	packed, meter := con.Reading(in)
	m, err := backup.Read(packed, dir, func(name string) bool { return target[name] != "" }, room)
	meter.End()
	if err == nil {
		err = checkRestored(ctx, dir)
	}
	contents := filepath.Join(dir, files.Folder)
	if err == nil {
		err = unpackFiles(filepath.Join(dir, files.PackName), contents)
	}
	if err != nil {
		return fmt.Errorf("%s: nothing was changed: %w", path, err)
	}
	m.Files = slices.DeleteFunc(m.Files, func(f backup.File) bool { return f.Name == files.PackName })
	if cfg.Storage.Shared() {
		if err := restoreInto(ctx, con, cfg, dir, "the backup of "+m.Created.Format(time.RFC3339)); err != nil {
			return fmt.Errorf("%s: no file was changed: %w", path, err)
		}
		m.Files = slices.DeleteFunc(m.Files, func(f backup.File) bool { return f.Name == daemon.StoreName })
	}
	return putInPlace(con, dir, m, target)
}

// unpackFiles unpacks the contents of files of players, if the backup has any, to a new
// folder.
func unpackFiles(pack, folder string) (err error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	in, err := os.Open(pack)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return files.Unpack(in, folder)
}

// placeFolder puts an unpacked folder in place, for the owner of the folder around it.
func placeFolder(from, to, suffix string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := cli.OwnAs(filepath.Join(from, e.Name()), filepath.Dir(to)); err != nil {
			return err
		}
	}
	if err := cli.OwnAs(from, filepath.Dir(to)); err != nil {
		return err
	}
	if os.Remove(to) != nil { // it is not empty, or missing
		if err := os.RemoveAll(to + suffix); err != nil { // of a restore in the same second, as with files
			return err
		}
		if err := os.Rename(to, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return os.Rename(from, to)
}

// restoreCopies is the number of copies of a backup's files that a restore has
// on the disk at a time: unpacked, and beside the targets.
const restoreCopies = 2

// checkSpace returns an error if a total size is impossible for a backup of this
// length, or does not fit on the disk of the data folder.
func checkSpace(bytes int64, in *os.File, dir string) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && bytes > info.Size() {
		return fmt.Errorf("%w: it is to hold %d bytes and has %d", backup.ErrDamaged, bytes, info.Size())
	}
	free, err := backup.FreeSpace(dir)
	if err != nil {
		return fmt.Errorf("data_dir: free space: %w", err)
	}
	if uint64(bytes) > free/restoreCopies {
		return fmt.Errorf("data_dir: %s has %d bytes free, and a restore of %d bytes needs %d times as much: make room there",
			dir, free, bytes, restoreCopies)
	}
	return nil
}

// checkRestored returns an error if a daemon could not start from the unpacked
// files in dir. This may upgrade the store.
func checkRestored(ctx context.Context, dir string) (err error) {
	path := filepath.Join(dir, daemon.StoreName)
	if err := bolt.Verify(path, records.Layout()); err != nil {
		return err
	}
	if _, err := admin.ReadToken(filepath.Join(dir, admin.TokenFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s of the backup: %w", admin.TokenFile, err)
	}
	file, err := bolt.Open(ctx, path, bolt.Options{Layout: records.Layout()})
	if err != nil {
		return err
	}
	store := records.New(file, records.Options{})
	defer func() { err = errors.Join(err, store.Close()) }()
	err = accounts.CheckKeyFile(ctx, store, filepath.Join(dir, accounts.KeyName))
	switch {
	case errors.Is(err, accounts.ErrNoKey):
		return fmt.Errorf("it holds accounts, but not the key that opens them (%s)", accounts.KeyName)
	case errors.Is(err, seal.ErrKeyFile):
		return fmt.Errorf("its %s is not a sealing key file, or damaged", accounts.KeyName)
	case errors.Is(err, seal.ErrUnsealable):
		return fmt.Errorf("its %s opens none of its accounts", accounts.KeyName)
	}
	return err
}

// notRunning makes sure that no daemon uses the data folder. Other errors of
// the store are ignored, since the backup replaces it.
func notRunning(ctx context.Context, cfg *services.Config) error {
	if cfg.Storage.Shared() {
		lock, err := engine.Lock(cfg.DataDir, cli.ProbeStore)
		if err != nil {
			return fmt.Errorf("stop the daemon first: %w", err)
		}
		return lock.Close()
	}
	if _, err := os.Stat(daemon.StorePath(cfg)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store, err := daemon.OpenStore(ctx, cfg, cli.ProbeStore, zerolog.Nop())
	if errors.Is(err, engine.ErrInUse) {
		return fmt.Errorf("stop the daemon first: %w", err)
	}
	if store != nil {
		return store.Close()
	}
	return nil
}

// putInPlace puts the checked files in place: first copies beside all targets,
// which may be on other file systems, then renames.
func putInPlace(con *cli.Console, dir string, m backup.Manifest, target map[string]string) error {
	suffix := ".before-restore-" + time.Now().Format("20060102-150405")
	const fresh = ".restored"
	for _, f := range m.Files {
		to := target[f.Name]
		err := copyFile(filepath.Join(dir, f.Name), to+fresh)
		if err == nil {
			err = cli.OwnAs(to+fresh, predecessor(to))
		}
		if err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
	}
	if err := placeFolder(filepath.Join(dir, files.Folder), target[files.PackName], suffix); err != nil {
		return err
	}
	for _, f := range m.Files {
		to := target[f.Name]
		if err := os.Rename(to, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(to+fresh, to); err != nil {
			return err
		}
	}
	return con.Say("restored the backup of %s (respawnd %s); the files before are kept with the ending %s",
		m.Created.Local().Format(time.DateTime), m.Version, suffix)
}

// predecessor returns the path whose owner the file at path gets: an existing
// file there, or its folder.
func predecessor(path string) string {
	if _, err := os.Stat(path); err != nil {
		return filepath.Dir(path)
	}
	return path
}

// copyFile copies a file that only its owner may read, and waits for the disk.
func copyFile(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by an interrupted restore
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
