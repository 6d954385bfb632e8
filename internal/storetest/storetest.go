// Package storetest opens stores for tests. It is not for the daemon, which opens its store
// as the configuration says (internal/engine).
//
// Nearly all tests want New, which is in memory. Those of what lasts, or of the file itself,
// take File.
package storetest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage/bolt"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
	"github.com/respawnd/respawnd/storage/postgres"
	"github.com/respawnd/respawnd/storage/records"
)

// New returns an empty store in memory, which is closed with the test.
func New(tb testing.TB) *records.Store {
	tb.Helper()
	return open(tb, &memory.Engine{})
}

// Shared returns an empty store in memory that several nodes use.
func Shared() records.Shared { return records.NewShared(&memory.Engine{}, "", zerolog.Nop()) }

// File returns a store in a file, which it makes if there is none. It is closed with the
// test, and the file does not survive a crash of the machine.
func File(tb testing.TB, path string) *records.Store {
	tb.Helper()
	return file(tb, path, true)
}

// Whole is a store in a file with what its engine offers besides, as the daemon has it.
type Whole struct {
	*records.Store
	*bolt.Engine
}

// Close closes the store.
func (w Whole) Close() error { return w.Store.Close() }

// NewWhole returns an empty Whole, which is closed with the test.
func NewWhole(tb testing.TB) Whole {
	tb.Helper()
	eng := openFile(tb, filepath.Join(tb.TempDir(), "store.db"), true)
	return Whole{open(tb, eng), eng}
}

// Synced returns an empty store in a file that waits for the disk, for benchmarks.
func Synced(tb testing.TB) *records.Store {
	tb.Helper()
	return file(tb, filepath.Join(tb.TempDir(), "store.db"), false)
}

func file(tb testing.TB, path string, noSync bool) *records.Store {
	tb.Helper()
	return open(tb, openFile(tb, path, noSync))
}

func openFile(tb testing.TB, path string, noSync bool) *bolt.Engine {
	tb.Helper()
	eng, err := bolt.Open(context.Background(), path, bolt.Options{Layout: records.Layout(), NoSync: noSync})
	if err != nil {
		tb.Fatal(err)
	}
	return eng
}

// Database returns a store in a database that other nodes use too. It is closed with the
// test.
func Database(tb testing.TB, url, node string) records.Shared {
	tb.Helper()
	eng, err := postgres.Open(context.Background(), url, postgres.Options{
		Layout: records.Layout(), Strict: records.Strict(), Node: node, StatementTimeout: time.Minute, Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	s := records.NewShared(eng, node, zerolog.Nop())
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func open(tb testing.TB, eng engine.Engine) *records.Store {
	tb.Helper()
	s := records.New(eng, records.Options{})
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	return s
}
