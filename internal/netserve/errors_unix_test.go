//go:build unix

package netserve

import (
	"syscall"
	"testing"
)

func TestBrokenSocketIsNotSurvived(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EBADF, syscall.ENOTSOCK, syscall.EINVAL} {
		if isTransient(errno) {
			t.Errorf("isTransient(%v) = true, want false", errno)
		}
	}
}
