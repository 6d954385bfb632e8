//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Commands are often run as root while the daemon runs as another user, such as
// one that its service manager created. Files of root are readable by root
// only, so the daemon would not start.

// OwnAs changes the owner of the file at path to that of like, if this process
// runs as root.
func OwnAs(path, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	uid, gid := ownerOf(info)
	return os.Lchown(path, uid, gid)
}

// adopt changes the owner of the file at path to that of its folder, if root
// created the file in the folder of another user.
func adopt(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	file, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	maker, _ := ownerOf(file)
	uid, gid := ownerOf(folder)
	if maker != 0 || uid == 0 || !file.Mode().IsRegular() {
		return nil
	}
	return os.Lchown(path, uid, gid)
}

// ownerOf returns the user and the group of a file; -1, which changes nothing,
// if the system does not report them.
func ownerOf(info fs.FileInfo) (uid, gid int) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), int(s.Gid)
	}
	return -1, -1
}
