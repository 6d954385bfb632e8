package backup

import (
	"errors"
	"io"
	"os"
)

// Replace replaces the file at path by a complete new one, readable by its
// owner only, or not at all. It writes to a file beside path first. Parts that
// an earlier, killed process left there are removed if possible.
func Replace(path string, write func(io.Writer) error) (size int64, err error) {
	_, _ = SweepFiles(path)
	f, err := PartFile(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = write(f)
	info, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(f.Name(), path)
}
