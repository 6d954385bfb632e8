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
	"github.com/respawnd/respawnd/storage"
)

// overwrite puts a raw value into the file.
func overwrite(t *testing.T, s *Store, value []byte, key []byte, path ...string) {
	t.Helper()
	err := s.update(t.Context(), func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(path[0]))
		for _, name := range path[1:] {
			b = b.Bucket([]byte(name))
		}
		return b.Put(key, value)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// openLoose is openNew for a test that leaves a damaged file.
func openLoose(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "respawnd.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestDamagedChunkLosesOnlyItself(t *testing.T) {
	s := openLoose(t)
	save(t, s, records(0, 1000))
	whole, _ := load(t, s)
	generation := string(generationKey(s.list.head.Segments[0].Generation))
	overwrite(t, s, []byte("not a chunk"), generationKey(1), bucketServers, generation)
	got, errs := load(t, s)
	if len(errs) != 1 || !errors.Is(errs[0], storage.ErrDamaged) {
		t.Fatalf("errors = %v, want one ErrDamaged", errs)
	}
	if len(got) == 0 || len(got) >= len(whole) || got[0] != 0 || got[len(got)-1] != 999 {
		t.Errorf("%d of %d records, want the chunks before and after the damage", len(got), len(whole))
	}
	if n, err := s.SaveServers(t.Context(), storage.WholeList(records(0, 3))); n.Servers != 3 || err != nil {
		t.Errorf("SaveServers() over a damaged list = %+v, %v", n, err)
	}
}

func TestDamagedRecordInChunkLosesOnlyItself(t *testing.T) {
	s := openLoose(t)
	save(t, s, records(0, 3))
	first, second, third := record(0), record(1), record(2)
	chunk := appendToChunk(nil, appendServer(nil, &first))
	chunk = appendToChunk(chunk, appendServer(nil, &second)[:20])
	chunk = appendToChunk(chunk, []byte(`{"game":5}`))
	chunk = appendToChunk(chunk, appendServer(nil, &third))
	generation := string(generationKey(s.list.head.Segments[0].Generation))
	overwrite(t, s, wrap(chunk), generationKey(0), bucketServers, generation)
	got, errs := load(t, s)
	if len(got) != 2 || len(errs) != 2 || !errors.Is(errs[0], storage.ErrDamaged) || !errors.Is(errs[1], storage.ErrDamaged) {
		t.Errorf("LoadServers() = %v, %v, want 2 records and two ErrDamaged", got, errs)
	}
}

func TestDamagedListHeadLosesOnlyTheList(t *testing.T) {
	s := openLoose(t)
	save(t, s, records(0, 2))
	overwrite(t, s, []byte("?"), []byte(keyHead), bucketServers)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, s.path)
	if _, errs := load(t, s); len(errs) != 1 || !errors.Is(errs[0], storage.ErrDamaged) {
		t.Errorf("errors = %v, want one ErrDamaged", errs)
	}
	if _, err := s.ServersSavedAt(t.Context()); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("ServersSavedAt() = %v, want ErrDamaged", err)
	}
	save(t, s, records(0, 2))
	if got, errs := load(t, s); len(got) != 2 || len(errs) != 0 {
		t.Errorf("after a new save: %v, %v", got, errs)
	}
}

func TestDamagedRecordIsOneItem(t *testing.T) {
	s := openLoose(t)
	for _, name := range []string{"a", "b", "c"} {
		if _, err := s.PutGame(t.Context(), storage.Game{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	overwrite(t, s, []byte("{}"), []byte("b"), bucketGames)
	var names []string
	for g, err := range s.Games(t.Context()) {
		if errors.Is(err, storage.ErrDamaged) {
			g.Name = "damaged"
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, g.Name)
	}
	if got := strings.Join(names, " "); got != "a damaged c" {
		t.Errorf("Games() = %s, want a damaged c", got)
	}
	if _, err := s.GetGame(t.Context(), "b"); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("GetGame() = %v, want ErrDamaged", err)
	}
	if _, err := s.PutGame(t.Context(), storage.Game{Name: "b"}); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("PutGame() over a damaged record = %v, want ErrDamaged", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Verify(s.path); !errors.Is(err, storage.ErrDamaged) || !strings.Contains(fmt.Sprint(err), `games "b"`) {
		t.Errorf("Verify() = %v, want ErrDamaged that names the record", err)
	}
	again, err := Open(t.Context(), s.path, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(again.DeleteGame(t.Context(), "b"), again.Close(), Verify(s.path)); err != nil {
		t.Errorf("after deleting the damaged record: %v", err)
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
	if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore") {
		t.Errorf("%s = %v, want ErrDamaged with the path and what to do", what, err)
	}
}

func TestTruncatedFileIsRefused(t *testing.T) {
	s := openNew(t)
	save(t, s, records(0, 5000))
	content, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for _, size := range []int{4 * page, 5 * page, 100*page + 7, 500 * page} {
		path := writeFile(t, content[:size])
		wantRestore(t, fmt.Sprintf("Verify() of %d bytes", size), Verify(path), path)
		path = writeFile(t, content[:size])
		_, err := Open(t.Context(), path, testOptions())
		wantRestore(t, fmt.Sprintf("Open() of %d bytes", size), err, path)
	}
}

// TestScrambledPages overwrites each page in turn. Whatever that hits, no call may
// panic or hang, and Verify must not miss damage that use finds.
func TestScrambledPages(t *testing.T) {
	racetest.Skip(t, "opens many files")
	s := openNew(t)
	save(t, s, records(0, 20))
	for i := range 300 {
		if _, err := s.PutGame(t.Context(), storage.Game{Name: fmt.Sprintf("game%03d", i), Doc: make([]byte, 200)}); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	found := 0
	junk := []string{"\x00", "\xff", "\x02\x00\x00"}
	for n := range min(len(content)/page, 90) {
		bad := append([]byte(nil), content...)
		copy(bad[n*page:(n+1)*page], strings.Repeat(junk[n%len(junk)], page))
		err := Verify(writeFile(t, bad))
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
	s, err := Open(t.Context(), path, testOptions())
	if err != nil {
		return err
	}
	_, errs := load(t, s)
	for _, err := range s.Games(t.Context()) {
		errs = append(errs, err)
	}
	for i := range 30 {
		errs = append(errs, s.DeleteGame(t.Context(), fmt.Sprintf("game%03d", 10*i)))
	}
	_, err = s.SaveServers(t.Context(), storage.WholeList(records(0, 50)))
	return errors.Join(append(errs, err, s.Close())...)
}

func TestPanicInAChangeRefusesFurtherChanges(t *testing.T) {
	s := openLoose(t)
	if _, err := s.PutGame(t.Context(), storage.Game{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	err := s.update(t.Context(), func(*bbolt.Tx) error { panic("page 7 is odd") })
	wantRestore(t, "update() that panics", err, s.path)
	_, err = s.PutGame(t.Context(), storage.Game{Name: "b"})
	wantRestore(t, "PutGame() after it", err, s.path)
	if _, err := s.GetGame(t.Context(), "a"); err != nil {
		t.Errorf("GetGame() after it = %v, want the game", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close() after it = %v", err)
	}
}
