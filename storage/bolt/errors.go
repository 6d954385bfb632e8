package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/respawnd/respawnd/storage/engine"
)

// Errors of Open and Verify.
var (
	// ErrInUse means that another process has the file open.
	ErrInUse = errors.New("in use by another process; is the daemon running already?")
	// ErrNotOurs means that the file is not one of this package.
	ErrNotOurs = errors.New("not a respawnd storage file, or its beginning is damaged; \"respawnd restore\" puts a backup in its place")
	// ErrNewer means that a newer version of the program wrote the file.
	ErrNewer = errors.New("written by a newer version of respawnd")
)

// errEmptyFile reports an empty file.
var errEmptyFile = errors.New("it is empty; remove it to begin without accounts")

// closedError replaces bbolt's error for a closed file by the contract's.
func closedError(err error) error {
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return engine.ErrClosed
	}
	return err
}

// catchDamage turns a panic into an error. It is deferred around all code that
// reads pages, and not around code that calls foreign functions.
func catchDamage(path string, err *error) {
	if r := recover(); r != nil {
		*err = damagedFile(path, r)
	}
}

// isDamage reports whether err reports damaged data.
func isDamage(err error) bool { return errors.Is(err, engine.ErrDamaged) }

// damagedFile is the error for a file that needs its operator.
func damagedFile(path string, cause any) error {
	return fmt.Errorf("storage file %s is %w (%v): stop the daemon and restore the last backup with \"respawnd restore\"",
		path, engine.ErrDamaged, cause)
}

// openFile opens a bbolt file, which must exist, and explains errors. An empty
// file does not count as a new one: it may have lost its content.
func openFile(path string, opt *bbolt.Options) (db *bbolt.DB, err error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, damagedFile(path, errEmptyFile)
	}
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultTimeout
	}
	defer catchDamage(path, &err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	db, err = bbolt.Open(path, 0o600, opt)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	return db, nil
}

// explainOpen names the file and the reason.
func explainOpen(path string, err error) error {
	_, system := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("storage file %s: %w", path, ErrInUse)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("storage file %s: %w", path, ErrNotOurs)
	case errors.Is(err, berrors.ErrChecksum):
		return damagedFile(path, err)
	case !system && tooSmall(path):
		return fmt.Errorf("storage file %s: %w (it is too short)", path, ErrNotOurs)
	}
	return fmt.Errorf("storage file %s: %w", path, err)
}

// tooSmall reports whether path is a file that is not empty but shorter than
// the four pages of every bbolt file.
func tooSmall(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() < int64(4*os.Getpagesize())
}
