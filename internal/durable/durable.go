// Package durable writes files that must survive a crash of the machine. It knows nothing of their
// content, and does not lock them.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// WriteSecret writes a file that only its owner may read: under another name, which
// becomes path once all of it is on the disk. Unless replace is true, the error matches
// fs.ErrExist if there is such a file.
func WriteSecret(path string, content []byte, replace bool) (err error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	name := filepath.Base(path)
	tmp := name + ".tmp"
	if err := dir.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && !replace {
		if _, there := dir.Stat(name); there == nil {
			err = fs.ErrExist
		}
	}
	if err != nil {
		return errors.Join(err, dir.Remove(tmp))
	}
	if err := dir.Rename(tmp, name); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a folder durable, where the system can do that.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
