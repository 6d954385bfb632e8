package backup

import (
	"errors"
	"io"
	"os"
)

// Replace writes a file beside path first, so that an old one is replaced by a
// whole new one, which only its owner may read, or not at all. Parts that an
// earlier, killed process left there are removed if possible.
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
