//go:build unix

package netserve

import "syscall"

// isBrokenSocket reports whether errno means that the socket itself is unusable.
func isBrokenSocket(errno syscall.Errno) bool {
	switch errno {
	case syscall.EBADF, syscall.ENOTSOCK, syscall.EINVAL, syscall.EFAULT, syscall.EOPNOTSUPP:
		return true
	default:
		return false
	}
}
