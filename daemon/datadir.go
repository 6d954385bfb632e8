package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/operator"
)

// StoreName is the name of the store in the data folder and in a backup.
const StoreName = engine.FileName

// StorePath returns the path of the store in the data folder, which exists only if
// the engine is bolt.
func StorePath(c Config) string { return newSettings(c).storePath() }

// HeldPath returns the path of the file in the data folder that a running daemon holds.
func HeldPath(c Config) string {
	s := newSettings(c)
	return filepath.Join(s.DataDir, s.Storage.HeldFile())
}

// OpenStore creates the data folder if it is missing and opens the store. If another
// process uses the folder, it waits for it; after that time the error wraps
// engine.ErrInUse. It does not wait for a database. Errors name the key.
func OpenStore(ctx context.Context, c Config, wait time.Duration, log zerolog.Logger) (engine.Store, error) {
	return openStore(ctx, newSettings(c), engine.Options{LockWait: wait, Log: log})
}

// openStore is OpenStore with further options of the engine.
func openStore(ctx context.Context, s *settings, opt engine.Options) (engine.Store, error) {
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	opt.Config, opt.DataDir = s.Storage, s.DataDir
	store, err := engine.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	store.LimitAudit(s.audit())
	sweepBackups(s.DataDir, opt.Log)
	return store, nil
}

// sweepBackups removes the files that killed backups left in the data folder.
// The caller holds the store, so no backup is running.
func sweepBackups(dir string, log zerolog.Logger) {
	gone, err := backup.SweepDirs(operator.BackupWork(dir))
	if err != nil {
		log.Warn().Err(err).Msg("cannot remove the files of an unfinished backup")
	}
	if len(gone) > 0 {
		log.Info().Strs("folders", gone).Msg("removed the files of an unfinished backup")
	}
}

// OpenAccounts opens the rules of accounts. reg may be nil.
func OpenAccounts(ctx context.Context, c Config, store accounts.Store, reg prometheus.Registerer, log zerolog.Logger,
) (*accounts.Service, error) {
	shared := c.Shared()
	s, err := accounts.Open(ctx, store, accounts.Options{
		KeyFile: shared.Accounts.KeyPath(shared.DataDir), KeepPasswords: shared.Accounts.KeepPasswords, NickFallback: shared.Accounts.NickFallback,
		Registerer: reg, Log: log.With().Str("service", "accounts").Logger(),
	})
	if err != nil {
		return nil, fmt.Errorf("accounts.key_file: %w", err)
	}
	return s, nil
}
