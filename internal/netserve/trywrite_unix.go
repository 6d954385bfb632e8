//go:build unix

package netserve

import (
	"errors"
	"syscall"
)

// tryWrite writes as much as a socket takes without waiting.
func tryWrite(raw syscall.RawConn, p []byte) (n int, err error) {
	failed := raw.Write(func(fd uintptr) bool {
		for {
			n, err = syscall.Write(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return true // written or not: never wait
			}
		}
	})
	if failed != nil {
		return 0, failed
	}
	if errors.Is(err, syscall.EAGAIN) {
		err = nil
	}
	return max(n, 0), err
}
