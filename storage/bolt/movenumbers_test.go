package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage/engine"
)

// A dump is everything in a file: the values by bucket, slash and key, those of a bucket in
// a bucket by both names, and the numbers of the buckets.
type dump struct {
	values  map[string]string
	numbers map[string]uint64
}

// dumpFile reads a closed file.
func dumpFile(tb testing.TB, path string) dump {
	tb.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		tb.Fatal(err)
	}
	d := dump{make(map[string]string), make(map[string]uint64)}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			d.numbers[string(name)] = b.Sequence()
			return d.bucket(string(name)+"/", b)
		})
	})
	if err = errors.Join(err, db.Close()); err != nil {
		tb.Fatal(err)
	}
	return d
}

func (d *dump) bucket(name string, b *bbolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return d.bucket(name+string(k)+"/", b.Bucket(k))
		}
		d.values[name+string(k)] = string(v)
		return nil
	})
}

// moved returns what the upgrade of a file of schema 7 must lead to.
func (d *dump) moved() map[string]string {
	want := make(map[string]string)
	put := func(bucket, key string, content []byte) {
		want[bucket+"/"+key] = string(engine.Seal([]byte(key), content))
	}
	number := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	users := uint64(0)
	for name, v := range d.values {
		bucket, key, _ := strings.Cut(name, "/")
		sum := func(counts ...string) {
			for i, count := range counts {
				put("counts", count+"\x00\x00", []byte(v[8*i:8*i+8]))
			}
		}
		switch {
		case bucket == "users":
			users++
			want[name] = v
		case name == "meta/schema":
			want[name] = string(number(uint64(len(migrations())))) // those after it change no value
		case name == "meta/app", name == "meta/probe":
			want[name] = v
		case name == "meta/user", name == "meta/profile", name == "meta/file":
			put("sequences", key+"_ids", append(make([]byte, 4), v[:4]...))
		case name == "meta/room", name == "meta/copy":
			put("marks", key, []byte(v[:len(v)-4]))
		case bucket == "meta": // not needed any more
		case name == "sake_meta/A":
			sum("sake_records", "sake_bytes")
		case name == "stat_sums/b":
			sum("stat_blocks", "stat_block_bytes")
		case name == "stat_sums/r":
			sum("reports", "report_bytes")
		case name == "file_usage/\x00\x00\x00\x00":
			sum("files", "file_bytes")
		case name == "servers/head":
			want["servers/\x00h"] = string(sealed([]byte("\x00h"), []byte(v[9:])))
		case bucket == "servers":
			want["servers/\x00c"+key[:8]+key[9:]] = v
		default:
			want[name] = v
		}
	}
	put("counts", "users\x00\x00", number(users))
	for bucket, n := range d.numbers {
		if n > 0 {
			put("sequences", bucket, number(n))
		}
	}
	return want
}

// Every record of a file of schema 7 is in the upgraded one, and nothing else.
func TestMoveNumbers(t *testing.T) {
	path := oldFile(t, "schema7.db")
	before := dumpFile(t, path)
	checkMoved(t, path, before)
	for _, name := range []string{
		"counts/sake_bytes", "counts/stat_blocks", "counts/report_bytes", "counts/files", "marks/room", "marks/copy",
		"sequences/user_ids", "sequences/profile_ids", "sequences/file_ids", "sequences/servers", "sequences/matches", "servers/\x00c",
	} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(before.moved())), func(key string) bool { return strings.HasPrefix(key, name) }) {
			t.Errorf("testdata/schema7.db has nothing that becomes %q", name)
		}
	}
}

// checkMoved upgrades a file that had this content.
func checkMoved(t *testing.T, path string, before dump) {
	t.Helper()
	e, err := Open(t.Context(), path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Close(), verifyFile(path)); err != nil {
		t.Fatal(err)
	}
	after := dumpFile(t, path)
	want := before.moved()
	for name, v := range want {
		if after.values[name] != v {
			t.Errorf("%q is %q, want %q", name, after.values[name], v)
		}
	}
	for name, v := range after.values {
		if _, ok := want[name]; !ok {
			t.Errorf("%q is %q, want none", name, v)
		}
	}
	for bucket, n := range after.numbers {
		if n > 0 {
			t.Errorf("bucket %s has the number %d", bucket, n)
		}
	}
}

// An upgrade that ends between any two of its transactions is completed by the next start.
func TestUpgradeIsCompleted(t *testing.T) {
	want := oldFile(t, "schema3.db")
	if err := openAt(t, want).Close(); err != nil {
		t.Fatal(err)
	}
	for end := 3; end < len(migrations()); end++ {
		path := oldFile(t, "schema3.db")
		steps := migrations()
		steps[end] = func(tx *bbolt.Tx) (bool, error) {
			_, err := migrations()[end](tx)
			return false, errors.Join(err, errors.New("power failure"))
		}
		if _, err := open(t.Context(), path, testOptions(), steps); err == nil {
			t.Fatalf("an upgrade that ends at schema %d = nil", end)
		}
		if got := readSchema(t, path); got != uint64(end) {
			t.Errorf("the file has schema %d, want %d", got, end)
		}
		if err := openAt(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := dumpFile(t, path), dumpFile(t, want); !maps.Equal(got.values, want.values) {
			t.Errorf("after an upgrade that ended at schema %d: %q, want %q", end, got.values, want.values)
		}
	}
}

// A number without its checksum is not moved: it may be given a second time.
func TestMoveOfDamagedNumbers(t *testing.T) {
	for bucket, key := range map[string]string{"meta": "user", "stat_sums": "b", "file_usage": "\x00\x00\x00\x00"} {
		path := oldFile(t, "schema7.db")
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(bucket))
			bad := bytes.Clone(b.Get([]byte(key)))
			bad[0]++
			return b.Put([]byte(key), bad)
		})
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		_, err = Open(t.Context(), path, testOptions())
		if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("Open() with a damaged %s %q = %v, want ErrDamaged with the path", bucket, key, err)
		}
		if schema := readSchema(t, path); schema != 7 {
			t.Errorf("the file has schema %d, want 7", schema)
		}
	}
}

// MOVE_FILE=name upgrades a copy of a large file of schema 7 and compares everything.
func TestMoveNumbersOfAFile(t *testing.T) {
	name := os.Getenv("MOVE_FILE")
	if name == "" {
		t.Skip("MOVE_FILE is not set")
	}
	path := copyFile(t, name, t.TempDir()+"/respawnd.db")
	checkMoved(t, path, dumpFile(t, path))
}
