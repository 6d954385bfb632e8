package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/engine"
	"github.com/respawnd/respawnd/storage"
)

// brokenStore fails with err at every change.
type brokenStore struct {
	engine.Store

	n   int
	err error
}

func (s brokenStore) AddBan(context.Context, storage.Ban) error { return s.err }
func (s brokenStore) RemoveBan(context.Context, netip.Prefix, storage.Scope) (int, error) {
	return s.n, s.err
}
func (s brokenStore) SweepBans(context.Context, time.Time) (int, error) { return s.n, s.err }

func (s brokenStore) PutGame(_ context.Context, g storage.Game) (storage.Game, error) {
	return g, s.err
}

func TestSharedStoreReportsChanges(t *testing.T) {
	closed := fmt.Errorf("store: %w", context.Canceled)
	for name, tt := range map[string]struct {
		n       int
		err     error
		changed int // of 4
		doubts  int
	}{
		"made":                {1, nil, 4, 0},
		"nothing to do":       {0, nil, 2, 0},
		"refused":             {0, storage.ErrConflict, 0, 0},
		"request ended":       {0, closed, 0, 4},
		"too slow":            {0, context.DeadlineExceeded, 0, 4},
		"connection broke":    {0, fmt.Errorf("x: %w", storage.ErrUnavailable), 0, 4},
		"ended after a batch": {1, closed, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			changed, doubts := 0, 0
			s := sharedStore{brokenStore{n: tt.n, err: tt.err}, func(string) { changed++ }, func(string) { doubts++ }}
			_, removeErr := s.RemoveBan(t.Context(), netip.Prefix{}, storage.ScopeAll)
			_, sweepErr := s.SweepBans(t.Context(), time.Time{})
			_, gameErr := s.PutGame(t.Context(), storage.Game{})
			for _, err := range []error{s.AddBan(t.Context(), storage.Ban{}), removeErr, sweepErr, gameErr} {
				if !errors.Is(err, tt.err) {
					t.Errorf("a change = %v, want %v", err, tt.err)
				}
			}
			if changed != tt.changed || doubts != tt.doubts {
				t.Errorf("%d changes and %d doubts were reported, want %d and %d", changed, doubts, tt.changed, tt.doubts)
			}
		})
	}
}
