package main

import (
	"slices"
	"testing"

	"github.com/respawnd/respawnd/internal/services"
)

// Every limit of connections counts while its service is on.
func TestFilesNeeded(t *testing.T) {
	t.Parallel()
	cfg := &services.Config{}
	if n, keys := filesNeeded(cfg); n != ownFiles || keys != nil {
		t.Errorf("nothing is on: %d files for %q, want %d for none", n, keys, ownFiles)
	}
	cfg.GPCM.MaxConns, cfg.Web.MaxConns = 1000, 100
	cfg.Web.Listen = ":8080"
	if n, keys := filesNeeded(cfg); n != ownFiles+100 || !slices.Equal(keys, []string{"web.max_conns"}) {
		t.Errorf("the pages are on: %d files for %q", n, keys)
	}
	cfg.GPCM.Listen, cfg.GPSP.Listen, cfg.ServerBrowse.Listen, cfg.LegacyList.Listen = ":1", ":2", ":3", ":4"
	cfg.GPSP.MaxConns, cfg.ServerBrowse.MaxConns, cfg.LegacyList.MaxConns = 10, 1, 2
	if n, keys := filesNeeded(cfg); n != ownFiles+1113 || len(keys) != 5 {
		t.Errorf("all are on: %d files for %q, want %d for 5 keys", n, keys, ownFiles+1113)
	}
}
