package hostsfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/respawnd/respawnd/internal/durable"
)

// backupSuffix ends the name of the copy made before the first change of the file.
const backupSuffix = ".before-respawnd"

// ErrChanged means that another program changed the file meanwhile.
var ErrChanged = errors.New("another program changed the hosts file meanwhile: try again")

// Path returns the path of the hosts file of this system.
func Path() string {
	if runtime.GOOS == "windows" {
		root := os.Getenv("SystemRoot")
		if root == "" {
			root = `C:\Windows`
		}
		return filepath.Join(root, "System32", "drivers", "etc", "hosts")
	}
	return "/etc/hosts"
}

// Read reads a hosts file.
func Read(path string) (*File, error) {
	data, _, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// read returns the content of a file, and its attributes when it was read.
func read(path string) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	return data, info, err
}

// Update changes a file with edit, and writes it back if anything changed: as a whole,
// with the owner and the rights of the old one, and through a symbolic link. Before the
// first change it makes a copy, whose path it returns. After an error the file is as it
// was.
func Update(path string, edit func(*File) error) (changed bool, backup string, err error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, "", err
	}
	before, info, err := read(target)
	if err != nil {
		return false, "", err
	}
	f, err := Parse(before)
	if err != nil {
		return false, "", err
	}
	pristine := len(f.Entries()) == 0
	if err := edit(f); err != nil {
		return false, "", err
	}
	after := f.Bytes()
	if bytes.Equal(before, after) {
		return false, "", nil
	}
	if len(after) > MaxSize {
		return false, "", ErrTooLarge
	}
	if pristine {
		backup = target + backupSuffix
		if err := replace(backup, before, info, nil); err != nil {
			return false, "", fmt.Errorf("keep a copy: %w", err)
		}
	}
	return true, backup, replace(target, after, info, func() error { return unchanged(target, info) })
}

// unchanged returns ErrChanged if a file has changed.
func unchanged(path string, was fs.FileInfo) error {
	now, err := os.Lstat(path)
	if err == nil && (!os.SameFile(now, was) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime())) {
		err = ErrChanged
	}
	return err
}

// replace writes a file with the owner and the rights of another: under another name,
// which becomes path once all of it is on the disk. check, if not nil, is called just
// before that.
func replace(path string, data []byte, like fs.FileInfo, check func() error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".respawnd-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = setOwner(tmp, like)
	}
	if err == nil {
		err = tmp.Chmod(like.Mode().Perm())
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err == nil && check != nil {
		err = check()
	}
	if err != nil {
		return err
	}
	err = os.Rename(tmp.Name(), path)
	if errors.Is(err, syscall.EBUSY) { // a container's file, which is mounted alone
		return errors.Join(overwrite(path, data), os.Remove(tmp.Name()))
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}

// overwrite writes into a file that cannot be replaced. The copy helps if the machine
// stops before the end.
func overwrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
