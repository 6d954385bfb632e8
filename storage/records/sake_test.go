package records

import (
	"context"
	"testing"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

// interrupted is an engine that runs each View twice.
type interrupted struct{ memory.Engine }

func (r *interrupted) View(ctx context.Context, read func(engine.Reader) error) error {
	if err := r.Engine.View(ctx, read); err != nil {
		return err
	}
	return r.Engine.View(ctx, read)
}

func TestScanOfRowsAgain(t *testing.T) {
	s := openIn(t, &interrupted{}, Options{})
	manyProfiles(t, s)
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	if _, err := s.CreateSakeRecord(t.Context(), table, 1, sakeFields(1), storage.SakeLimits{}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	err := s.ScanSake(t.Context(), table, storage.SakeScan{}, func(*storage.SakeRow) bool { rows++; return true })
	if rows != 1 || err != nil {
		t.Errorf("ScanSake() visited %d rows and returned %v, want 1", rows, err)
	}
}
