package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/engine"
)

// compareKeys compares the keys of this node with those of the first node that used the
// database, which keeps their fingerprints. A store that only one daemon uses has none.
func (d *Daemon) compareKeys(ctx context.Context, s *settings) error {
	known, ok := d.store.(engine.Keys)
	if !ok {
		return nil
	}
	errs := []error{known.CheckKey(ctx, accounts.KeyName, d.accounts.Keys.Fingerprint())}
	if errs[0] != nil {
		errs[0] = fmt.Errorf("accounts.key_file: %s: %w", s.Accounts.KeyPath(s.DataDir), errs[0])
	}
	for _, e := range s.entries {
		if !e.On || e.Files == nil {
			continue
		}
		paths := e.Files(s.DataDir)
		for name, key := range e.SharedKeys {
			text, err := os.ReadFile(paths[name])
			if err == nil {
				sum := sha256.Sum256(text)
				err = known.CheckKey(ctx, name, hex.EncodeToString(sum[:8]))
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", key, paths[name], err))
			}
		}
	}
	return errors.Join(errs...)
}
