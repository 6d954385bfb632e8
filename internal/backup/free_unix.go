//go:build linux || darwin

package backup

import "golang.org/x/sys/unix"

// FreeSpace returns how many bytes this user may still write into a folder.
func FreeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
