package bolt

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/records"
)

// testLayout is the layout of the tests.
func testLayout() engine.Layout { return records.Layout() }

// sealed returns the value of a record under a key, of version 2.
func sealed(key, payload []byte) []byte {
	value := binary.BigEndian.AppendUint32([]byte{2}, engine.Checksum(payload))
	value = binary.BigEndian.AppendUint32(value, engine.Checksum(key))
	return append(value, payload...)
}

// testOptions are quick: no disk to wait for, a short wait for the lock.
func testOptions() Options {
	return Options{NoSync: true, Timeout: 50 * time.Millisecond, Layout: testLayout()}
}

// verifyFile is Verify with the layout of the tests.
func verifyFile(path string) error { return Verify(path, testLayout()) }

// openAt opens an engine that is closed, and its file verified, with the test.
func openAt(t *testing.T, path string) *Engine {
	t.Helper()
	e, err := Open(t.Context(), path, testOptions())
	if err != nil {
		t.Fatalf("Open(%s) = %v", path, err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
		if err := verifyFile(path); err != nil {
			t.Errorf("Verify() after the test = %v", err)
		}
	})
	return e
}

func openNew(t *testing.T) *Engine {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "respawnd.db"))
}

// openLoose is openNew for a test that leaves a damaged file.
func openLoose(tb testing.TB) *Engine {
	tb.Helper()
	e, err := Open(tb.Context(), filepath.Join(tb.TempDir(), "respawnd.db"), testOptions())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

// putRecord stores a record in a step of its own.
func putRecord(e *Engine, t engine.Table, key string, payload []byte) error {
	return e.Update(context.Background(), func(tx engine.Tx) error { return tx.Put(t, []byte(key), sealed([]byte(key), payload)) })
}

// getRecord returns the value under a key in a step of its own, with the error of its
// check.
func getRecord(e *Engine, t engine.Table, key string) (value []byte, err error) {
	err = e.View(context.Background(), func(r engine.Reader) error {
		v, err := r.Get(t, []byte(key))
		if err != nil || v == nil {
			return err
		}
		value = slices.Clone(v)
		_, err = testLayout().Check(t, []byte(key), value)
		return err
	})
	return value, err
}
