package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// partMark is in the names of what is not finished yet, before a number, so that
// nothing else looks like it: what a killed process leaves behind is removed by
// a later one.
const partMark = ".respawnd-part-"

// PartFile creates a file of mode 0600 beside path, to be renamed to path when it is
// complete.
func PartFile(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMark)
}

// PartDir creates a folder of mode 0700 beside path, for what is worked on under
// that name.
func PartDir(path string) (string, error) {
	return os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+partMark)
}

// SweepFiles removes unfinished files that PartFile made for path, and returns their
// paths. One that is still being written is removed as well: its rename fails, and
// path keeps its content.
func SweepFiles(path string) ([]string, error) { return sweep(path, fs.FileMode.IsRegular) }

// SweepDirs removes what PartDir made for path, with all that is in it, and
// returns the paths. No process may be working there.
func SweepDirs(path string) ([]string, error) { return sweep(path, fs.FileMode.IsDir) }

// sweep removes the parts of path that are of a kind; links are of none.
func sweep(path string, kind func(fs.FileMode) bool) (gone []string, err error) {
	dir, prefix := filepath.Dir(path), filepath.Base(path)+partMark
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || !kind(e.Type()) || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		part := filepath.Join(dir, e.Name())
		if err := os.RemoveAll(part); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, part)
	}
	return gone, errors.Join(errs...)
}
