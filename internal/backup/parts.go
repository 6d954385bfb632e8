package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// partMark, followed by a number, marks the names of unfinished files and
// folders, so that a later process can remove those that a killed one left
// behind.
const partMark = ".respawnd-part-"

// PartFile creates a file of mode 0600 beside path, to be renamed to path when it is
// complete.
func PartFile(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), filepath.Base(path)+partMark)
}

// PartDir creates a folder of mode 0700 beside path, for work on path.
func PartDir(path string) (string, error) {
	return os.MkdirTemp(filepath.Dir(path), filepath.Base(path)+partMark)
}

// SweepFiles removes unfinished files that PartFile made for path, and returns their
// paths. One that is still being written is removed as well: its rename fails, and
// path keeps its content.
func SweepFiles(path string) ([]string, error) { return sweep(path, fs.FileMode.IsRegular) }

// SweepDirs removes the folders that PartDir made for path, with their content,
// and returns their paths. No process must be working in them.
func SweepDirs(path string) ([]string, error) { return sweep(path, fs.FileMode.IsDir) }

// sweep removes the parts of path whose mode kind accepts; links are never
// removed.
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
