package bolt

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestEmptyFileIsNotTakenForANewOne(t *testing.T) {
	path := writeFile(t, nil)
	_, err := Open(t.Context(), path, testOptions())
	wantRestore(t, "Open() of an empty file", err, path)
	wantRestore(t, "Verify() of an empty file", verifyFile(path), path)
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("the empty file was changed: %v, %v", info, err)
	}
}

func TestCreationLeavesOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "respawnd.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := create(path, testOptions()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(list) != 1 {
		t.Errorf("in the folder: %v, %v; want the file alone", list, err)
	}
	if err := openAt(t, path).Close(); err != nil {
		t.Error(err)
	}
}
