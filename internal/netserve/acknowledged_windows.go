package netserve

import (
	"errors"
	"syscall"
	"time"
)

// setUserTimeout bounds retransmission, in seconds. It does not bound the wait
// for a peer that is reachable but reads nothing.
func setUserTimeout(fd uintptr, d time.Duration) error {
	const maxRetransmission = 5 // TCP_MAXRT
	return syscall.SetsockoptInt(syscall.Handle(fd), syscall.IPPROTO_TCP, maxRetransmission, roundUp(d, time.Second))
}

func unacknowledged(uintptr) (int, error) { return 0, errors.ErrUnsupported }
