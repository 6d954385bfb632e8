package bolt

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// create makes the file at path if there is none. The file gets its name only
// when it is complete and on disk: a file truncated by a full disk or a crash
// would be refused as damaged at every start.
func create(path string, opt Options) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // opening it reports any error
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // of mode 0600
	if err != nil {
		return err
	}
	fresh := f.Name()
	defer func() {
		if gone := os.Remove(fresh); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(fresh, 0o600, &bbolt.Options{NoSync: opt.NoSync})
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	err = os.Link(fresh, path) // fails if path exists
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil // in the second case another process was faster
	}
	return os.Rename(fresh, path) // not every file system has links
}

// Lock creates the file at path, if it is missing, and keeps other processes from
// locking it until the result is closed or this process ends. It waits at most timeout
// for another one; the error then matches ErrInUse. The file holds nothing.
func Lock(path string, timeout time.Duration) (io.Closer, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: max(timeout, time.Millisecond)})
	if err != nil {
		return nil, explainOpen(path, err)
	}
	return db, nil
}
