package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/storagetest"
)

// testOptions are quick: no disk to wait for, a short wait for the lock.
func testOptions() Options { return Options{NoSync: true, Timeout: 50 * time.Millisecond} }

// openAt opens a store that is closed, and its file verified, with the test.
func openAt(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, testOptions())
	if err != nil {
		t.Fatalf("Open(%s) = %v", path, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
		if err := Verify(path); err != nil {
			t.Errorf("Verify() after the test = %v", err)
		}
	})
	return s
}

func openNew(t *testing.T) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "respawnd.db"))
}

// reopenable adds the method with which storagetest opens a store again.
type reopenable struct{ *Store }

func (r reopenable) Reopen(t *testing.T) storage.Store {
	t.Helper()
	path := r.path
	if err := r.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	return reopenable{openAt(t, path)}
}

func TestContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store { return reopenable{openNew(t)} })
}

// record returns a server of about one kilobyte.
func record(n int) storage.Server {
	return storage.Server{
		Source:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n >> 16)}), uint16(n)),
		Instance: uint32(n), Game: "gmtest", Origin: "qr2",
		Rules: bytes.Repeat([]byte("rule\x00value\x00"), 50), First: time.Now(), Seen: time.Now(),
	}
}

func records(first, n int) iter.Seq[storage.Server] {
	return func(yield func(storage.Server) bool) {
		for i := range n {
			if !yield(record(first + i)) {
				return
			}
		}
	}
}

func save(t *testing.T, s *Store, list iter.Seq[storage.Server]) {
	t.Helper()
	if _, err := s.SaveServers(t.Context(), storage.WholeList(list)); err != nil {
		t.Fatalf("SaveServers() = %v", err)
	}
}

// load returns the instances of the saved list and the errors in it.
func load(t *testing.T, s *Store) (instances []uint32, errs []error) {
	t.Helper()
	for v, err := range s.LoadServers(t.Context()) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		instances = append(instances, v.Instance)
	}
	return instances, errs
}

// generations returns how many generations the file holds.
func generations(t *testing.T, s *Store) int {
	t.Helper()
	n := 0
	err := s.view(t.Context(), func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketServers)).ForEachBucket(func([]byte) error { n++; return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSecondOpenSaysInUse(t *testing.T) {
	s := openNew(t)
	_, err := Open(t.Context(), s.path, testOptions())
	if !errors.Is(err, ErrInUse) || !strings.Contains(fmt.Sprint(err), s.path) {
		t.Errorf("Open() of an open file = %v, want ErrInUse with the path", err)
	}
}

func TestVerifyOfOpenFileSaysInUse(t *testing.T) {
	s := openNew(t)
	if err := Verify(s.path); !errors.Is(err, ErrInUse) {
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
			if err := Verify(path); !errors.Is(err, ErrNotOurs) {
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
	if err := Verify(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Verify() of a missing file = %v, want os.ErrNotExist", err)
	}
}

func TestCopyInMidSaveHasOldList(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 3000))
	var copies []string
	dir := t.TempDir()
	save(t, s, func(yield func(storage.Server) bool) {
		for v := range records(100000, 12000) {
			if v.Instance%3000 == 0 {
				copies = append(copies, copyFile(t, s.path, filepath.Join(dir, fmt.Sprint(v.Instance))))
			}
			if !yield(v) {
				return
			}
		}
	})
	unfinished := 0
	for _, path := range copies {
		unfinished += countGenerations(t, path) - 2 // of the old list
		killed := openAt(t, path)
		got, errs := load(t, killed)
		if len(errs) > 0 || len(got) != 3000 || got[0] != 0 || got[2999] != 2999 {
			t.Errorf("%s: %d records and %v, want the old list", path, len(got), errs)
		}
		if n := generations(t, killed); n != 2 {
			t.Errorf("%s: %d generations after Open, want the leftovers gone", path, n)
		}
	}
	if unfinished < 2 {
		t.Errorf("%d of %d copies had an unfinished generation, want at least 2", unfinished, len(copies))
	}
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations after the save, want a segment and its index", n)
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

// countGenerations looks into a file without opening it as a store.
func countGenerations(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(bucketServers)).ForEachBucket(func([]byte) error { n++; return nil })
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCancelledSaveLeavesNothingBehind(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 2))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.SaveServers(ctx, storage.WholeList(func(yield func(storage.Server) bool) {
		for v := range records(0, 12000) {
			if v.Instance == 9000 {
				cancel()
			}
			if !yield(v) {
				return
			}
		}
	}))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("SaveServers() = %v, want context.Canceled", err)
	}
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations, want a segment and its index", n)
	}
}

func TestGenerationIsKeptWhileRead(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 1000))
	next, stop := iter.Pull2(s.LoadServers(t.Context()))
	if v, err, ok := next(); err != nil || !ok {
		t.Fatalf("the first record is %+v, %v", v, err)
	}
	save(t, s, records(0, 1))
	if n := generations(t, s); n != 4 {
		t.Errorf("%d generations while the old list is read, want 4", n)
	}
	stop()
	save(t, s, records(0, 1))
	if n := generations(t, s); n != 2 {
		t.Errorf("%d generations after the reader left, want 2", n)
	}
	if n := len(s.list.reading); n != 0 {
		t.Errorf("%d generations have readers, want none", n)
	}
}

func TestChunksKeepTheirSize(t *testing.T) {
	s := openNew(t)
	largest := record(1)
	largest.Rules = bytes.Repeat([]byte{0xff}, storage.MaxServerSections)
	largest.Local = slices.Repeat([]netip.AddrPort{netip.MustParseAddrPort("[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]:65535")},
		storage.MaxServerLocal)
	for _, word := range []*string{&largest.Game, &largest.Origin, &largest.Country, &largest.Region} {
		*word = strings.Repeat("<", storage.MaxServerWord) // grows most in JSON
	}
	list := slices.Collect(records(0, 1040))
	for i := range 40 {
		source := list[i].Source
		list[i] = largest
		list[i].Source = source
	}
	save(t, s, slices.Values(list))
	if got, errs := load(t, s); len(got) != 1040 || len(errs) > 0 {
		t.Fatalf("%d records, %v, want 1040", len(got), errs)
	}
	err := s.view(t.Context(), func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucketServers)).Bucket(generationKey(s.list.head.Segments[0].Generation))
		return b.ForEach(func(k, v []byte) error {
			if len(v) > ChunkSize {
				t.Errorf("chunk %x has %d bytes, want at most %d", k, len(v), ChunkSize)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBackupIsACompleteStore(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 500))
	if _, err := s.PutGame(t.Context(), storage.Game{Name: "gmtest"}); err != nil {
		t.Fatal(err)
	}
	var copied bytes.Buffer
	n, err := s.Backup(t.Context(), &copied)
	if err != nil || n != int64(copied.Len()) {
		t.Fatalf("Backup() = %d, %v, and wrote %d bytes", n, err, copied.Len())
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Verify(path); err != nil {
		t.Errorf("Verify() = %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, copied.Bytes()) {
		t.Errorf("Verify() changed the file (%v)", err)
	}
	restored := openAt(t, path)
	if got, errs := load(t, restored); len(got) != 500 || len(errs) > 0 {
		t.Errorf("the copy has %d servers and %v, want 500", len(got), errs)
	}
	if _, err := restored.GetGame(t.Context(), "gmtest"); err != nil {
		t.Errorf("GetGame() of the copy = %v", err)
	}
}

// writerFunc is a writer made of a function.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestBackupEndsWithItsContextAndItsWriter(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 500))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Backup(ctx, writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Backup() = %v, want context.Canceled", err)
	}
	_, err = s.Backup(t.Context(), writerFunc(func([]byte) (int, error) { return 0, os.ErrClosed }))
	if err == nil {
		t.Error("Backup() to a writer that fails = nil")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(t.Context(), writerFunc(nil)); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Backup() of a closed store = %v, want ErrClosed", err)
	}
}
