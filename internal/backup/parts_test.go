package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// Unfinished files are removed; files with similar names stay.
func TestSweepTakesPartsAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "saved")
	kept := []string{"saved", "saved.part-1", "saved" + partMark, "saved" + partMark + "1a", "other" + partMark + "1", "x.saved" + partMark + "1"}
	for _, name := range kept {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(path, path+partMark+"77"); err == nil { // not every system allows it to all users
		kept = append(kept, "saved"+partMark+"77")
	}
	slices.Sort(kept)
	file, err := PartFile(path)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := PartDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{file.Close(), os.WriteFile(filepath.Join(folder, "respawnd.db"), []byte("copy"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if gone, err := SweepFiles(path); err != nil || !slices.Equal(gone, []string{file.Name()}) {
		t.Errorf("SweepFiles() = %q, %v, want %s", gone, err, file.Name())
	}
	if gone, err := SweepDirs(path); err != nil || !slices.Equal(gone, []string{folder}) {
		t.Errorf("SweepDirs() = %q, %v, want %s", gone, err, folder)
	}
	if left := names(t, dir); !slices.Equal(left, kept) {
		t.Errorf("left are %q, want %q", left, kept)
	}
	if _, err := SweepFiles(filepath.Join(dir, "none", "saved")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("SweepFiles() in no folder = %v, want ErrNotExist", err)
	}
}
