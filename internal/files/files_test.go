package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/storage"
)

// opened returns a table with n players, whose profiles have the ids from 1 on.
func opened(t *testing.T, n int) (*Table, storage.Store) {
	t.Helper()
	dir := t.TempDir()
	s := storetest.New(t)
	for i := range n {
		if _, _, err := s.CreateUser(t.Context(), storage.User{Email: fmt.Sprint(i, "@b.c")}, storage.Profile{Nick: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	return New(s, dir), s
}

// put uploads a content.
func put(t *testing.T, table *Table, owner storage.ProfileID, content string) storage.File {
	t.Helper()
	u, err := table.Begin(t.Context(), owner, int64(len(content)))
	if err != nil {
		t.Fatalf("Begin() = %v", err)
	}
	if _, err := io.WriteString(u, content); err != nil {
		t.Fatalf("Write() = %v", err)
	}
	f, err := u.Commit(t.Context(), "gmtest", "f.bin")
	if err != nil {
		t.Fatalf("Commit() = %v", err)
	}
	return f
}

// onDisk returns the number of entries in the folder of contents.
func onDisk(t *testing.T, table *Table) int {
	t.Helper()
	entries, err := os.ReadDir(table.dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestTable(t *testing.T) {
	table, _ := opened(t, 2)
	first, second, other := put(t, table, 1, "hello"), put(t, table, 2, "hello"), put(t, table, 1, "")
	if n := onDisk(t, table); n != 2 {
		t.Errorf("%d contents of three files, two of them equal, want 2", n)
	}
	f, content, err := table.Open(t.Context(), first.ID)
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	got, _ := io.ReadAll(content)
	_ = content.Close()
	if string(got) != "hello" || f != first {
		t.Errorf("Open() = %+v with %q, want %+v", f, got, first)
	}
	table.Count(first.ID, true)
	table.Count(77, false)
	for _, when := range []string{"before", "after"} {
		if size, created, n, ok := table.Info(first.ID); size != 5 || !created.Equal(first.Created) || n != 1 || !ok {
			t.Errorf("%s storing: Info() = %d, %v, %d, %v", when, size, created, n, ok)
		}
		for f, err := range table.All(t.Context(), first.ID-1) {
			if want := f.ID == first.ID; err != nil || (f.Downloads == 1) != want {
				t.Errorf("%s storing: All() has %+v, %v", when, f, err)
			}
		}
		if err := table.Flush(t.Context()); err != nil {
			t.Errorf("Flush() = %v", err)
		}
	}
	if _, _, n, ok := table.Info(77); n != 1 || ok {
		t.Errorf("Info() of an id that does not exist = %d, %v, want 1, false", n, ok)
	}
	for _, step := range []struct {
		id   storage.FileID
		left int
	}{{first.ID, 2}, {second.ID, 1}, {other.ID, 0}} {
		if err := table.Delete(t.Context(), step.id); err != nil {
			t.Errorf("Delete(%d) = %v", step.id, err)
		}
		if n := onDisk(t, table); n != step.left {
			t.Errorf("%d contents after deleting file %d, want %d", n, step.id, step.left)
		}
	}
	if _, _, err := table.Open(t.Context(), first.ID); !errors.Is(err, storage.ErrDeleted) {
		t.Errorf("Open() of a deleted file = %v, want ErrDeleted", err)
	}
}

func TestLimits(t *testing.T) {
	table, _ := opened(t, 2)
	table.SetLimits(Limits{File: 10, Player: storage.FileUsage{Files: 2, Bytes: 15}, Total: storage.FileUsage{Files: 3, Bytes: 20}})
	begin := func(owner storage.ProfileID, size int64) (*Upload, error) {
		u, err := table.Begin(t.Context(), owner, size)
		if err == nil {
			t.Cleanup(u.Discard)
		}
		return u, err
	}
	if _, err := begin(1, 11); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Begin() of 11 bytes = %v, want ErrTooLarge", err)
	}
	running, err := begin(1, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begin(1, 6); !errors.Is(err, ErrQuota) {
		t.Errorf("Begin() beside an upload, of more bytes than are left = %v, want ErrQuota", err)
	}
	if _, err := begin(2, 11-1); err != nil {
		t.Errorf("Begin() of what is left of all = %v", err)
	}
	if _, err := begin(1, 1); !errors.Is(err, ErrQuota) {
		t.Errorf("Begin() with nothing left of all = %v, want ErrQuota", err)
	}
	if _, err := running.Write(make([]byte, 11)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Write() of more than was reserved = %v, want ErrTooLarge", err)
	}
	running.Discard()
	running.Discard()
	put(t, table, 1, "12345")
	table.mu.Lock()
	left := len(table.reserved)
	table.mu.Unlock()
	if left != 2 {
		t.Errorf("%d reservations, want that of the second player and of all", left)
	}
}

// Uploads that run together never exceed the quota together.
func TestQuotaRace(t *testing.T) {
	table, s := opened(t, 1)
	table.SetLimits(Limits{File: 10, Player: storage.FileUsage{Files: 100, Bytes: 35}, Total: storage.FileUsage{Files: 100, Bytes: 1000}})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			u, err := table.Begin(context.Background(), 1, 10)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(u, "%010d", i)
			_, _ = u.Commit(context.Background(), "gmtest", "")
		})
	}
	wg.Wait()
	u, err := s.FileUsage(t.Context(), 1)
	if err != nil || u.Bytes > 35 || u.Files == 0 || onDisk(t, table) != u.Files {
		t.Errorf("usage %+v, %v with %d contents on the disk, want at most 35 bytes", u, err, onDisk(t, table))
	}
}

func TestSweep(t *testing.T) {
	table, s := opened(t, 2)
	kept := put(t, table, 1, "kept")
	put(t, table, 2, "of a deleted player")
	lost := put(t, table, 1, "lost")
	running, err := table.Begin(t.Context(), 1, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Discard()
	for _, name := range []string{partPrefix + "123", strings.Repeat("a", 64), "notes.txt"} {
		if err := os.WriteFile(filepath.Join(table.dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.DeleteUser(t.Context(), 2), os.Remove(filepath.Join(table.dir, lost.Hash))); err != nil {
		t.Fatal(err)
	}
	release := table.Hold()
	if got, err := table.Sweep(t.Context()); err != nil || got != (Swept{Lost: 1}) {
		t.Errorf("Sweep() while contents are held = %+v, %v, want nothing removed", got, err)
	}
	if err := release(t.Context()); err != nil {
		t.Errorf("release() = %v", err)
	}
	if n := onDisk(t, table); n != 3 {
		t.Errorf("%d entries after the sweep, want the content, the running upload and the note", n)
	}
	if got, err := table.Sweep(t.Context()); err != nil || got != (Swept{Lost: 1}) {
		t.Errorf("second Sweep() = %+v, %v", got, err)
	}
	if _, content, err := table.Open(t.Context(), kept.ID); err != nil {
		t.Errorf("Open() after the sweep = %v", err)
	} else {
		_ = content.Close()
	}
}

func TestPack(t *testing.T) {
	table, _ := opened(t, 1)
	var empty bytes.Buffer
	if none, err := table.Pack(t.Context(), &empty); !none || err != nil {
		t.Errorf("Pack() of nothing = %v, %v", none, err)
	}
	files := []storage.File{put(t, table, 1, "hello"), put(t, table, 1, strings.Repeat("x", 100_000))}
	var pack bytes.Buffer
	if none, err := table.Pack(t.Context(), &pack); none || err != nil {
		t.Fatalf("Pack() = %v, %v", none, err)
	}
	dir := t.TempDir()
	if err := Unpack(bytes.NewReader(pack.Bytes()), dir); err != nil {
		t.Fatalf("Unpack() = %v", err)
	}
	for _, f := range files {
		if got, err := os.ReadFile(filepath.Join(dir, f.Hash)); err != nil || int64(len(got)) != f.Size {
			t.Errorf("content %s has %d bytes, %v, want %d", f.Hash, len(got), err, f.Size)
		}
	}
	bad := bytes.Replace(pack.Bytes(), []byte("hello"), []byte("hellO"), 1)
	if err := Unpack(bytes.NewReader(bad), t.TempDir()); !errors.Is(err, ErrPack) {
		t.Errorf("Unpack() of a changed content = %v, want ErrPack", err)
	}
	bad = bytes.ReplaceAll(pack.Bytes(), []byte(files[0].Hash), []byte("../"+files[0].Hash[3:]))
	if err := Unpack(bytes.NewReader(bad), t.TempDir()); !errors.Is(err, ErrPack) {
		t.Errorf("Unpack() of a path = %v, want ErrPack", err)
	}
}
