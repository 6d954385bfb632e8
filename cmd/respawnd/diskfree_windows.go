package main

import "golang.org/x/sys/windows"

// diskFree returns how many bytes this user may still write into a folder.
func diskFree(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
