//go:build unix

package daemon

import "syscall"

// openFilesAllowed returns how many files this process may have open. The Go
// runtime has raised the soft limit to the hard one.
func openFilesAllowed() (uint64, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true //nolint:unconvert // signed on some systems
}
