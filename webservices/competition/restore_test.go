package competition

import (
	"bytes"
	"context"
	"iter"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/part"
	"github.com/respawnd/respawnd/storage"
)

// endless is a store whose reads end with their context.
type endless struct{ storage.Store }

func (endless) OpenMatches(ctx context.Context) iter.Seq2[storage.Match, error] {
	return func(yield func(storage.Match, error) bool) { yield(storage.Match{}, ctx.Err()) }
}

func (endless) SweepMatches(ctx context.Context, _ time.Time) (int, error) { return 0, ctx.Err() }

// TestServe_stops_while_it_restores must log nothing: a stop is no mistake.
func TestServe_stops_while_it_restores(t *testing.T) {
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	New(Options{Store: endless{}, Self: part.Self{Log: zerolog.New(&log)}}).Serve(ctx)
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
}
