package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage/engine"
)

// overwrite puts a raw value into the file.
func overwrite(t *testing.T, e *Engine, bucket string, key, value []byte) {
	t.Helper()
	if err := e.update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucket)).Put(key, value) }); err != nil {
		t.Fatal(err)
	}
}

// writeFile makes a file of its own with this content: a damaged file may stay
// locked.
func writeFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantRestore checks the error that an operator gets to see.
func wantRestore(t *testing.T, what string, err error, path string) {
	t.Helper()
	if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore") {
		t.Errorf("%s = %v, want ErrDamaged with the path and what to do", what, err)
	}
}

// A record that cannot be read does not prevent the use of the others; an entry of an index
// under another key does.
func TestDamagedValues(t *testing.T) {
	for name, damage := range map[string]struct {
		table   engine.Table
		value   []byte
		refused bool
	}{
		"payload of a record":     {"games", append(sealed([]byte("b"), nil), '?'), false},
		"record of another key":   {"games", sealed([]byte("other"), nil), true},
		"entry of another key":    {"nicks", engine.Seal([]byte("other"), nil), true},
		"number without checksum": {bucketSequences, make([]byte, 8), true},
	} {
		t.Run(name, func(t *testing.T) {
			e := openLoose(t)
			overwrite(t, e, string(damage.table), []byte("b"), damage.value)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			err := verifyFile(e.path)
			wantRestore(t, "Verify()", err, e.path)
			if !strings.Contains(err.Error(), fmt.Sprintf("%s %q", damage.table, "b")) {
				t.Errorf("Verify() = %v, want an error that names the entry", err)
			}
			again, err := Open(t.Context(), e.path, testOptions())
			if damage.refused {
				wantRestore(t, "Open()", err, e.path)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := getRecord(again, damage.table, "b"); !errors.Is(err, engine.ErrDamaged) {
				t.Errorf("the record is read with %v, want ErrDamaged", err)
			}
			err = again.Update(t.Context(), func(tx engine.Tx) error { return tx.Delete(damage.table, []byte("b")) })
			if err := errors.Join(err, again.Close(), verifyFile(e.path)); err != nil {
				t.Errorf("after deleting the damaged record: %v", err)
			}
		})
	}
}

// A bucket that is missing, or where none belongs, is damage.
func TestMissingAndStrayBuckets(t *testing.T) {
	for name, damage := range map[string]func(tx *bbolt.Tx) error{
		"missing":   func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("nicks")) },
		"sequences": func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte(bucketSequences)) },
		"stray":     func(tx *bbolt.Tx) error { _, err := tx.Bucket([]byte("nicks")).CreateBucket([]byte("x")); return err },
	} {
		e := openLoose(t)
		if err := errors.Join(e.update(damage), e.Close()); err != nil {
			t.Fatal(err)
		}
		wantRestore(t, name+": Verify()", verifyFile(e.path), e.path)
		_, err := Open(t.Context(), e.path, testOptions())
		wantRestore(t, name+": Open()", err, e.path)
	}
}

func TestTruncatedFileIsRefused(t *testing.T) {
	e := openNew(t)
	if err := putRecord(e, "games", "large", make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(e.path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for _, size := range []int{4 * page, 5 * page, 100*page + 7, 500 * page} {
		path := writeFile(t, content[:size])
		wantRestore(t, fmt.Sprintf("Verify() of %d bytes", size), verifyFile(path), path)
		path = writeFile(t, content[:size])
		_, err := Open(t.Context(), path, testOptions())
		wantRestore(t, fmt.Sprintf("Open() of %d bytes", size), err, path)
	}
}

// TestScrambledPages overwrites each page in turn. Whatever that hits, no call may
// panic or hang, and Verify must not miss damage that use finds.
func TestScrambledPages(t *testing.T) {
	racetest.Skip(t, "opens many files")
	e := openNew(t)
	for i := range 300 {
		if err := putRecord(e, "games", fmt.Sprintf("game%03d", i), make([]byte, 300)); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(e.path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	found := 0
	junk := []string{"\x00", "\xff", "\x02\x00\x00"}
	for n := range min(len(content)/page, 90) {
		bad := append([]byte(nil), content...)
		copy(bad[n*page:(n+1)*page], strings.Repeat(junk[n%len(junk)], page))
		err := verifyFile(writeFile(t, bad))
		if err != nil {
			found++
		}
		if opened := use(t, writeFile(t, bad)); opened != nil && err == nil {
			t.Errorf("page %d: Verify() = nil, but use says %v", n, opened)
		}
	}
	if found == 0 {
		t.Error("Verify() found nothing in any scrambled file")
	}
}

// use opens a file, reads everything, changes things all over it, closes it, and
// returns the errors.
func use(t *testing.T, path string) error {
	t.Helper()
	e, err := Open(t.Context(), path, testOptions())
	if err != nil {
		return err
	}
	var errs []error
	for i := range 300 {
		_, err := getRecord(e, "games", fmt.Sprintf("game%03d", i))
		errs = append(errs, err)
	}
	for i := range 30 {
		errs = append(errs, e.Update(t.Context(), func(tx engine.Tx) error {
			return tx.Delete("games", fmt.Appendf(nil, "game%03d", 10*i))
		}))
	}
	return errors.Join(append(errs, putRecord(e, "servers", "list", make([]byte, 1<<20)), e.Close())...)
}
