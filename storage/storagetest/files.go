package storagetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// plenty is a limit that no test reaches.
var plenty = storage.FileUsage{Files: 1000, Bytes: 1 << 40}

// file returns a file of a profile whose hash is of one digit.
func file(owner storage.ProfileID, digit string, size int64) storage.File {
	return storage.File{Game: "gmtest", Owner: owner, Name: "f.bin", Size: size, Hash: strings.Repeat(digit, 64), Created: moment()}
}

func createFile(t *testing.T, s storage.Store, f storage.File) storage.File {
	t.Helper()
	stored, err := s.CreateFile(t.Context(), f, plenty, plenty)
	if err != nil {
		t.Fatalf("CreateFile(%+v) = %v", f, err)
	}
	return stored
}

// usage returns the usage of a profile, or of all for 0.
func usage(t *testing.T, s storage.Store, owner storage.ProfileID) storage.FileUsage {
	t.Helper()
	u, err := s.FileUsage(t.Context(), owner)
	if err != nil {
		t.Fatalf("FileUsage(%d) = %v", owner, err)
	}
	return u
}

// fileCalls is every method of files.
func fileCalls(s storage.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"CreateFile":   func(ctx context.Context) error { return errOf(s.CreateFile(ctx, file(77, "a", 1), plenty, plenty)) },
		"GetFile":      func(ctx context.Context) error { return errOf(s.GetFile(ctx, 77)) },
		"DeleteFile":   func(ctx context.Context) error { return s.DeleteFile(ctx, 77) },
		"Files":        func(ctx context.Context) error { return firstError(s.Files(ctx, 0)) },
		"FilesOf":      func(ctx context.Context) error { return firstError(s.FilesOf(ctx, 77)) },
		"FileUsage":    func(ctx context.Context) error { return errOf(s.FileUsage(ctx, 77)) },
		"HasContent":   func(ctx context.Context) error { return errOf(s.HasContent(ctx, strings.Repeat("a", 64))) },
		"AddDownloads": func(ctx context.Context) error { return s.AddDownloads(ctx, map[storage.FileID]int64{77: 1}) },
	}
}

func fileTests() map[string]func(*testing.T, storage.Store) {
	return map[string]func(*testing.T, storage.Store){
		"create, read, count, delete":           testFileLife,
		"limits of usage hold":                  testFileUsage,
		"one of many gets the last room":        testFileRace,
		"a deleted profile takes its files":     testFileOwner,
		"records beyond the limits are refused": testFileLimits,
	}
}

func testFileLife(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	first, second := createFile(t, s, file(p.ID, "a", 10)), createFile(t, s, file(p.ID, "a", 10))
	if first.ID != 1 || second.ID != 2 {
		t.Errorf("ids %d and %d, want 1 and 2", first.ID, second.ID)
	}
	differ(t, "file", must(s.GetFile(t.Context(), first.ID))(t), first)
	wantErr(t, s.AddDownloads(t.Context(), map[storage.FileID]int64{first.ID: 3, 99: 1}), nil, "AddDownloads()")
	first.Downloads = 3
	differ(t, "files", collect(t, s.Files(t.Context(), 0)), []storage.File{first, second})
	other := createFile(t, s, file(people(t, s, 1)[0].ID, "c", 1))
	differ(t, "files of a profile", collect(t, s.FilesOf(t.Context(), p.ID)), []storage.File{first, second})
	differ(t, "files of no profile", collect(t, s.FilesOf(t.Context(), 77)), nil)
	wantErr(t, s.DeleteFile(t.Context(), other.ID), nil, "DeleteFile()")
	differ(t, "files after the first", collect(t, s.Files(t.Context(), first.ID)), []storage.File{second})
	differ(t, "files after the last", collect(t, s.Files(t.Context(), 1<<32-1)), nil)
	for i, id := range []storage.FileID{second.ID, first.ID} {
		wantErr(t, s.DeleteFile(t.Context(), id), nil, "DeleteFile(%d)", id)
		wantErr(t, s.DeleteFile(t.Context(), id), storage.ErrDeleted, "DeleteFile(%d) again", id)
		if found, err := s.HasContent(t.Context(), first.Hash); err != nil || found != (i == 0) {
			t.Errorf("HasContent() after %d deletions = %v, %v", i+1, found, err)
		}
	}
	if _, err := s.GetFile(t.Context(), 77); !errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDeleted) {
		t.Errorf("GetFile() of an id that was never in use = %v, want ErrNotFound", err)
	}
	if next := createFile(t, s, file(p.ID, "b", 1)); next.ID != 4 {
		t.Errorf("id %d after all were deleted, want 4", next.ID)
	}
}

func testFileUsage(t *testing.T, s storage.Store) {
	ps := people(t, s, 2)
	own, all := storage.FileUsage{Files: 2, Bytes: 100}, storage.FileUsage{Files: 3, Bytes: 150}
	var large storage.FileID
	for i, step := range []struct {
		owner storage.ProfileID
		size  int64
		full  bool
	}{
		{ps[0].ID, 101, true},
		{ps[0].ID, 100, false},
		{ps[0].ID, 1, true},
		{ps[0].ID, 0, false},
		{ps[0].ID, 0, true}, // files of the owner
		{ps[1].ID, 51, true},
		{ps[1].ID, 50, false},
		{ps[1].ID, 0, true}, // all files
	} {
		f, err := s.CreateFile(t.Context(), file(step.owner, "a", step.size), own, all)
		if full := errors.Is(err, storage.ErrFull); full != step.full || err != nil && !full {
			t.Errorf("step %d: CreateFile() = %v, want full %v", i, err, step.full)
		}
		if step.size == 100 {
			large = f.ID
		}
	}
	differ(t, "usage of the first", usage(t, s, ps[0].ID), own)
	differ(t, "usage of all", usage(t, s, 0), all)
	wantErr(t, s.DeleteFile(t.Context(), large), nil, "DeleteFile()")
	differ(t, "usage of the first after deleting", usage(t, s, ps[0].ID), storage.FileUsage{Files: 1})
	differ(t, "usage of all after deleting", usage(t, s, 0), storage.FileUsage{Files: 2, Bytes: 50})
}

func testFileRace(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	oneWon(t, race(func(int) error {
		_, err := s.CreateFile(t.Context(), file(p.ID, "a", 10), storage.FileUsage{Files: 10, Bytes: 19}, plenty)
		return err
	}), storage.ErrFull)
}

func testFileOwner(t *testing.T, s storage.Store) {
	ps := people(t, s, 2)
	gone := []storage.File{createFile(t, s, file(ps[0].ID, "a", 10)), createFile(t, s, file(ps[0].ID, "b", 10))}
	kept := createFile(t, s, file(ps[1].ID, "a", 10))
	noErr(t, s.DeleteUser(t.Context(), ps[0].User))
	differ(t, "files", collect(t, s.Files(t.Context(), 0)), []storage.File{kept})
	differ(t, "usage of all", usage(t, s, 0), storage.FileUsage{Files: 1, Bytes: 10})
	differ(t, "usage of the deleted", usage(t, s, ps[0].ID), storage.FileUsage{})
	for i, want := range []bool{true, false} {
		if found, err := s.HasContent(t.Context(), gone[i].Hash); err != nil || found != want {
			t.Errorf("HasContent(%s) = %v, %v, want %v", gone[i].Hash, found, err, want)
		}
	}
	if _, err := s.CreateFile(t.Context(), file(ps[0].ID, "a", 1), plenty, plenty); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("CreateFile() of a deleted profile = %v, want ErrNotFound", err)
	}
}

func testFileLimits(t *testing.T, s storage.Store) {
	_, p := createUser(t, s, user("a@b.c"), profile("A"))
	edge := file(p.ID, "0", storage.MaxFileSize)
	edge.Name, edge.Game = strings.Repeat("n", storage.MaxFileName), strings.Repeat("g", storage.MaxFileGame)
	edge = createFile(t, s, edge)
	for name, change := range map[string]func(*storage.File){
		"name too long":    func(f *storage.File) { f.Name += "n" },
		"game too long":    func(f *storage.File) { f.Game += "g" },
		"no game":          func(f *storage.File) { f.Game = "" },
		"no owner":         func(f *storage.File) { f.Owner = 0 },
		"negative size":    func(f *storage.File) { f.Size = -1 },
		"size too large":   func(f *storage.File) { f.Size++ },
		"short hash":       func(f *storage.File) { f.Hash = f.Hash[1:] },
		"capitals in hash": func(f *storage.File) { f.Hash = strings.Repeat("A", 64) },
		"line in the name": func(f *storage.File) { f.Name = "a\nb" },
	} {
		f := edge
		change(&f)
		wantErr(t, errOf(s.CreateFile(t.Context(), f, plenty, plenty)), storage.ErrInvalid, "%s: CreateFile()", name)
	}
	differ(t, "files", collect(t, s.Files(t.Context(), 0)), []storage.File{edge})
}
