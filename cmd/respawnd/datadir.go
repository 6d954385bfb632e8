package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/internal/backup"
	daemonlist "github.com/respawnd/respawnd/internal/daemon"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage/bolt"
)

// storeName is the name of the store in the data folder and in a backup.
const storeName = "respawnd.db"

// Names of the files in a backup, beside the store.
const (
	tokenName = "admin.token"
	keyName   = "account.key"
)

// backupFiles returns where the files of a backup lie, the store aside.
func backupFiles(cfg *services.Config) map[string]string {
	files := map[string]string{keyName: cfg.AccountKeyFile()}
	for _, e := range daemonlist.List(cfg) {
		if e.Files != nil {
			maps.Copy(files, e.Files(cfg.DataDir))
		}
	}
	return files
}

func storePath(cfg *services.Config) string { return filepath.Join(cfg.DataDir, storeName) }

// sweepBackups removes what backups that were killed left in the data folder.
// The store is ours, so none is under way.
func sweepBackups(cfg *services.Config, log zerolog.Logger) {
	gone, err := backup.SweepDirs(operator.BackupWork(cfg.DataDir))
	if err != nil {
		log.Warn().Err(err).Msg("what an unfinished backup left behind was not removed")
	}
	if len(gone) > 0 {
		log.Info().Strs("folders", gone).Msg("removed what an unfinished backup left behind")
	}
}

// wholePath returns path for people to read, who may have forgotten where they
// are.
func wholePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// doubtNewFolder is strayed for a folder without a store, which no daemon holds,
// and says that it is new otherwise.
func (p *program) doubtNewFolder(ctx context.Context, cfg *services.Config) error {
	if _, err := os.Lstat(storePath(cfg)); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it tells what may be wrong with it
	}
	if err := strayed(ctx, cfg); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.err, "note: no daemon has run on %s yet; a daemon with another data folder does not see what is done there\n",
		wholePath(cfg.DataDir))
	return nil
}

// strayed refuses to work on a store that no daemon holds while a daemon runs,
// which must have another one. A command without the daemon's settings would
// else change what nobody reads, and say that it is done.
func strayed(ctx context.Context, cfg *services.Config) error {
	if !admin.Answers(ctx, cfg.Admin.Listen) {
		return nil
	}
	return fmt.Errorf("data_dir: %s is not that of the daemon that runs at %s: give this command the same --config or --data-dir",
		wholePath(cfg.DataDir), cfg.Admin.Listen)
}

// openStore makes the data folder if it is missing and opens the store in it.
// Its errors name the key.
func openStore(ctx context.Context, cfg *services.Config, wait time.Duration, log zerolog.Logger) (*bolt.Store, error) {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	store, err := bolt.Open(ctx, storePath(cfg), bolt.Options{Timeout: wait, Log: log})
	if errors.Is(err, bolt.ErrInUse) {
		return nil, fmt.Errorf("data_dir: %s is in use: %w", cfg.DataDir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	store.LimitAudit(cfg.Admin.AuditEntries)
	sweepBackups(cfg, log)
	return store, nil
}
