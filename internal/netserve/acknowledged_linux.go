package netserve

import (
	"time"

	"golang.org/x/sys/unix"
)

func setUserTimeout(fd uintptr, d time.Duration) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, roundUp(d, time.Millisecond))
}

// unacknowledged returns the length of the send queue, which holds the bytes
// not sent or not acknowledged. A reset does not change it.
func unacknowledged(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }
