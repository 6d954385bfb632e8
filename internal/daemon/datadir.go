package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage/bolt"
)

// StoreName is the name of the store in the data folder and in a backup.
const StoreName = "respawnd.db"

// StorePath returns the path of the store.
func StorePath(c Config) string { return newSettings(c).storePath() }

// OpenStore creates the data folder if it is missing and opens the store in it.
// If another process has the store open, it waits for it; after that time the
// error wraps bolt.ErrInUse. Errors name the key.
func OpenStore(ctx context.Context, c Config, wait time.Duration, log zerolog.Logger) (*bolt.Store, error) {
	s := newSettings(c)
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	store, err := bolt.Open(ctx, s.storePath(), bolt.Options{Timeout: wait, Log: log})
	if errors.Is(err, bolt.ErrInUse) {
		return nil, fmt.Errorf("data_dir: %s is in use: %w", s.DataDir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("data_dir: %w", err)
	}
	store.LimitAudit(s.audit())
	sweepBackups(s.DataDir, log)
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
