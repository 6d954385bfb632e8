package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage/engine"
)

// oldFile returns a copy of the file of an older schema that is kept in
// testdata (its README.md says how they were made).
func oldFile(t *testing.T, name string) string {
	t.Helper()
	return copyFile(t, filepath.Join("testdata", name), filepath.Join(t.TempDir(), "respawnd.db"))
}

// readSchema returns the schema number in a closed file.
func readSchema(t *testing.T, path string) (schema uint64) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		found, err := readHeader(tx)
		schema = found.schema
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestOlderFilesAreUpgraded(t *testing.T) {
	for schema := range migrations() {
		t.Run(fmt.Sprintf("schema %d", schema), func(t *testing.T) { testUpgrade(t, schema) })
	}
}

func testUpgrade(t *testing.T, schema int) {
	path := oldFile(t, fmt.Sprintf("schema%d.db", schema))
	if err := verifyFile(path); err != nil {
		t.Errorf("Verify() of the old file = %v", err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e := openAt(t, path)
	for table, key := range map[engine.Table]string{"games": "gmtest", "rooms": "\x00\x00\x00\x03", "bans": "\x04\xc0\x00\x02\x00\x18\x02"} {
		if v, err := getRecord(e, table, key); v == nil || err != nil {
			t.Errorf("%s %q of the old file: %q, %v", table, key, v, err)
		}
	}
	if v, err := getRecord(e, "users", "\x00\x00\x00\x01"); err != nil || (v != nil) != (schema >= 3) {
		t.Errorf("the user of the old file: %q, %v", v, err)
	}
	var numbers []uint64
	err = e.View(t.Context(), func(r engine.Reader) error {
		for _, table := range []engine.Table{"games", "user_ids", "profile_ids", "audit"} {
			n, err := r.Last(table)
			if err != nil {
				return err
			}
			numbers = append(numbers, n)
		}
		return nil
	})
	if err != nil || numbers[0] == 0 || (numbers[1] > 0 && numbers[2] > 1 && numbers[3] > 0) != (schema >= 3) {
		t.Errorf("numbers of games, users, profiles and audit: %d, %v", numbers, err)
	}

	backup := fmt.Sprintf("%s.schema%d.bak", path, schema)
	saved, err := os.ReadFile(backup)
	if err != nil {
		t.Fatalf("no copy of the old file: %v", err)
	}
	if got := readSchema(t, backup); len(saved) > len(before) || got != uint64(schema) {
		t.Errorf("the copy has %d bytes and schema %d, want the old file", len(saved), got)
	}
}

// An upgrade in many steps that was cut short resumes where it was.
func TestSealKeysGoesOn(t *testing.T) {
	racetest.Skip(t, "stores many records")
	path := oldFile(t, "schema3.db")
	const n = sealStep + sealStep/2
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) (err error) {
		for i := range n {
			err = errors.Join(err, tx.Bucket([]byte("buddies")).Put(key8(i), nil), tx.Bucket([]byte("buddy_of")).Put(key8(i), nil))
		}
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	calls := 0
	cut := func(tx *bbolt.Tx) (bool, error) {
		if calls++; calls == 3 {
			return false, errors.New("power failure")
		}
		return sealKeys(tx)
	}
	steps := migrations()
	steps[3] = cut
	if _, err := open(t.Context(), path, testOptions(), steps); err == nil || calls != 3 {
		t.Fatalf("open with a step that is cut short = %v after %d parts, want an error after 3", err, calls)
	}
	e := openAt(t, path)
	err = e.view(t.Context(), func(tx *bbolt.Tx) error {
		if got := tx.Bucket([]byte("buddies")).Stats().KeyN; got != n+1 {
			t.Errorf("%d buddies after the upgrade, want %d", got, n+1)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got := readSchema(t, path+".schema3.bak"); got != 3 {
		t.Errorf("the copy has schema %d, want 3", got)
	}
	saved, err := bbolt.Open(path+".schema3.bak", 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = saved.View(func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(bucketMeta)).Get([]byte(sealMark)) != nil {
			t.Error("the copy is of the file that was cut short, not of the old one")
		}
		return nil
	})
	if err = errors.Join(err, saved.Close()); err != nil {
		t.Error(err)
	}
}

func key8(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)|7<<32) }

// mark is a migration that leaves a trace, to see the order.
func mark(name string) migration {
	return once(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte(bucketMeta))
		return meta.Put([]byte("trace"), append(slices.Clone(meta.Get([]byte("trace"))), name...))
	})
}

func TestMigrationsRunInOrder(t *testing.T) {
	path := oldFile(t, "schema0.db")
	open2 := func(steps ...migration) (trace string, err error) {
		opt := testOptions()
		opt.Layout = engine.Layout{Version: uint64(len(steps))}
		e, err := open(t.Context(), path, opt, steps)
		if err != nil {
			return "", err
		}
		err = e.view(t.Context(), func(tx *bbolt.Tx) error {
			trace = string(tx.Bucket([]byte(bucketMeta)).Get([]byte("trace")))
			return nil
		})
		return trace, errors.Join(err, e.Close())
	}
	if trace, err := open2(once(wrapValues), mark("a"), mark("b")); trace != "ab" || err != nil {
		t.Errorf("first open: trace %q, %v, want ab", trace, err)
	}
	bad := once(func(*bbolt.Tx) error { return errors.New("no room") })
	_, err := open2(once(wrapValues), mark("a"), mark("b"), mark("c"), bad)
	if err == nil || !strings.Contains(err.Error(), "from schema 4") || !strings.Contains(err.Error(), path+".schema3.bak") {
		t.Errorf("open with a step that fails = %v, want the step and where the copy is", err)
	}
	if schema := readSchema(t, path); schema != 4 {
		t.Errorf("schema after a failed step = %d, want 4: the steps before it are done", schema)
	}
	steps := []migration{once(wrapValues)}
	const marks = "abcdefghijklmnopqrstuvwxyz"
	for name := range strings.SplitSeq(marks[:len(migrations())], "") { // one more than there are
		steps = append(steps, mark(name))
	}
	if trace, err := open2(steps...); trace != marks[:len(migrations())] || err != nil {
		t.Errorf("open after the failure: trace %q, %v, want all in their order", trace, err)
	}
	if _, err := Open(t.Context(), path, testOptions()); !errors.Is(err, ErrNewer) {
		t.Errorf("Open() of a later schema = %v, want ErrNewer", err)
	}
}

func TestNewerFileIsRefusedAndLeftAlone(t *testing.T) {
	e := openLoose(t)
	err := e.update(func(tx *bbolt.Tx) error { return putSchema(tx, 99) })
	if err = errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(e.path)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Open":   func() error { _, err := Open(t.Context(), e.path, testOptions()); return err }(),
		"Verify": verifyFile(e.path),
	} {
		if !errors.Is(err, ErrNewer) || !strings.Contains(fmt.Sprint(err), e.path) {
			t.Errorf("%s() = %v, want ErrNewer with the path", name, err)
		}
	}
	for _, schema := range []int{0, len(migrations())} { // the newer copy is the better one
		saved := fmt.Sprintf("%s.schema%d.bak", e.path, schema)
		if err := os.WriteFile(saved, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), e.path, testOptions()); !errors.Is(err, ErrNewer) || !strings.HasSuffix(fmt.Sprint(err), "run: mv "+saved+" "+e.path) {
			t.Errorf("Open() = %v, want the way back to %s", err, saved)
		}
	}
	if after, err := os.ReadFile(e.path); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestEveryOlderSchemaHasAFile(t *testing.T) {
	for schema := range migrations() {
		path := oldFile(t, fmt.Sprintf("schema%d.db", schema))
		if got := readSchema(t, path); got != uint64(schema) {
			t.Errorf("testdata/schema%d.db has schema %d", schema, got)
		}
	}
}
