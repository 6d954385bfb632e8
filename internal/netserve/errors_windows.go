package netserve

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// isBrokenSocket reports whether errno means that the socket itself is unusable.
func isBrokenSocket(errno syscall.Errno) bool {
	switch errno {
	case windows.WSAEBADF, windows.WSAENOTSOCK, windows.WSAEINVAL, windows.WSAEFAULT,
		windows.WSAEOPNOTSUPP, windows.ERROR_INVALID_HANDLE:
		return true
	default:
		return false
	}
}
