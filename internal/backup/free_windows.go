package backup

import "golang.org/x/sys/windows"

// FreeSpace returns how many bytes this user may still write into a folder.
func FreeSpace(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
