package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/respawnd/respawnd/internal/backup"
	"github.com/respawnd/respawnd/internal/history"
)

// historyName is the file in the data folder that keeps the numbers of players
// over a restart. It is no part of a backup: a day later it is worth nothing.
const historyName = "players.history"

// saveHistoryEvery is how much of the history a crash may forget.
const saveHistoryEvery = 15 * time.Minute

// historyPath returns the path of the history.
func (d *daemon) historyPath() string { return filepath.Join(d.cfg.DataDir, historyName) }

// loadHistory reads the history of players. One that cannot be read is told and
// begins again: nothing depends on it.
func (d *daemon) loadHistory() {
	d.history = history.NewBook()
	path := d.historyPath()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = errors.Join(d.history.Load(f), f.Close())
	}
	if err != nil {
		d.log.Warn().Str("file", path).Err(err).Msg("the history of players begins anew")
	}
}

// keepHistory saves the history to path from time to time, and when the daemon
// stops.
func (d *daemon) keepHistory(ctx context.Context, path string) {
	tick := time.NewTicker(saveHistoryEvery)
	defer tick.Stop()
	for stopping := false; !stopping; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			stopping = true
		}
		if _, err := backup.Replace(path, d.history.Save); err != nil {
			d.log.Warn().Str("file", path).Err(err).Msg("the history of players was not saved")
		}
	}
}
