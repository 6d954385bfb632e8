package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

func TestSecondOpenSaysInUse(t *testing.T) {
	e := openNew(t)
	_, err := Open(t.Context(), e.path, testOptions())
	if !errors.Is(err, ErrInUse) || !strings.Contains(fmt.Sprint(err), e.path) {
		t.Errorf("Open() of an open file = %v, want ErrInUse with the path", err)
	}
	if err := verifyFile(e.path); !errors.Is(err, ErrInUse) {
		t.Errorf("Verify() of an open file = %v, want ErrInUse", err)
	}
}

func TestFileModeIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	info, err := os.Stat(openNew(t).path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode().Perm())
	}
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := bbolt.Open(foreign, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err })
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]byte{
		"another program's bolt file": theirs,
		"a short text":                []byte("hello"),
		"a text of two pages":         bytes.Repeat([]byte("hello "), 1000),
		"a long text":                 bytes.Repeat([]byte("hello "), 20000),
	}
	for name, content := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), path, testOptions())
			if !errors.Is(err, ErrNotOurs) || !strings.Contains(fmt.Sprint(err), path) {
				t.Errorf("Open() = %v, want ErrNotOurs with the path", err)
			}
			if err := verifyFile(path); !errors.Is(err, ErrNotOurs) {
				t.Errorf("Verify() = %v, want ErrNotOurs", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func TestOpenOfImpossiblePathNamesIt(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"directory": dir, "no parent": filepath.Join(dir, "no", "x.db")} {
		_, err := Open(t.Context(), path, testOptions())
		if err == nil || errors.Is(err, ErrNotOurs) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Open() = %v, want an error of the system with the path", name, err)
		}
	}
	if err := verifyFile(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Verify() of a missing file = %v, want os.ErrNotExist", err)
	}
}

// A layout for which there is no upgrade must not be taken for a schema.
func TestOpenRefusesAnotherLayout(t *testing.T) {
	opt := testOptions()
	opt.Layout.Version++
	path := filepath.Join(t.TempDir(), "x.db")
	if _, err := Open(t.Context(), path, opt); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Open() = %v, want an error with the path", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v, want none", err)
	}
}

func copyFile(t *testing.T, from, to string) string {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestBackupIsACompleteFile(t *testing.T) {
	e := openNew(t)
	for i := range 300 {
		if err := putRecord(e, "games", fmt.Sprint(i), make([]byte, 500)); err != nil {
			t.Fatal(err)
		}
	}
	var copied bytes.Buffer
	n, err := e.Backup(t.Context(), &copied)
	if err != nil || n != int64(copied.Len()) {
		t.Fatalf("Backup() = %d, %v, and wrote %d bytes", n, err, copied.Len())
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verifyFile(path); err != nil {
		t.Errorf("Verify() = %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, copied.Bytes()) {
		t.Errorf("Verify() changed the file (%v)", err)
	}
	restored := openAt(t, path)
	for i := range 300 {
		if v, err := getRecord(restored, "games", fmt.Sprint(i)); v == nil || err != nil {
			t.Errorf("record %d of the copy = %v, %v", i, v, err)
		}
	}
}

// writerFunc is a writer made of a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestBackupEndsWithItsContextAndItsWriter(t *testing.T) {
	e := openNew(t)
	if err := putRecord(e, "games", "large", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := e.Backup(ctx, writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Backup() = %v, want context.Canceled", err)
	}
	_, err = e.Backup(t.Context(), writerFunc(func([]byte) (int, error) { return 0, os.ErrClosed }))
	if err == nil {
		t.Error("Backup() to a writer that fails = nil")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Backup(t.Context(), writerFunc(nil)); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Backup() of a closed engine = %v, want ErrClosed", err)
	}
}

func TestClosedEngine(t *testing.T) {
	e := openNew(t)
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Fatalf("Close() twice = %v", err)
	}
	view := e.View(t.Context(), func(engine.Reader) error { t.Error("a closed engine is read"); return nil })
	update := e.Update(t.Context(), func(engine.Tx) error { t.Error("a closed engine is changed"); return nil })
	for name, err := range map[string]error{"View": view, "Update": update, "Probe": e.Probe(t.Context())} {
		if !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s() = %v, want ErrClosed", name, err)
		}
	}
}
