package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
)

// wholePath returns path as an absolute one, for messages.
func wholePath(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// doubtNewFolder is strayed for a folder without a store, which no daemon
// holds; otherwise it notes that the folder is new.
func (con *Console) doubtNewFolder(ctx context.Context, cfg *services.Config) error {
	if _, err := os.Lstat(daemon.HeldPath(cfg)); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it reports any error
	}
	if err := strayed(ctx, cfg); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(con.Err, "note: no daemon has run on %s yet; a daemon with another data folder does not see the changes made there\n",
		wholePath(cfg.DataDir))
	return nil
}

// strayed returns an error if a daemon runs but does not hold this store: the
// daemon must have another one. A command without the daemon's settings would
// otherwise change a store that is not in use, and report success.
func strayed(ctx context.Context, cfg *services.Config) error {
	if !admin.Answers(ctx, cfg.Admin.Listen) {
		return nil
	}
	return fmt.Errorf("data_dir: %s is not that of the daemon that runs at %s: give this command the same --config or --data-dir",
		wholePath(cfg.DataDir), cfg.Admin.Listen)
}
