package netserve

import (
	"time"

	"golang.org/x/sys/unix"
)

func setUserTimeout(fd uintptr, d time.Duration) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, roundUp(d, time.Millisecond))
}

// unacknowledged asks for what is in the send queue, which has what was not sent
// and what was not acknowledged. A reset does not change the answer.
func unacknowledged(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }
