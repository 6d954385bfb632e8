package netserve

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout bounds retransmission, in seconds. It does not bound the wait
// for a peer that is reachable but reads nothing.
func setUserTimeout(fd uintptr, d time.Duration) error {
	return unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_RXT_CONNDROPTIME, roundUp(d, time.Second))
}

// unacknowledged returns the length of the send buffer. A connection that has
// ended has an empty one, which proves nothing.
func unacknowledged(fd uintptr) (int, error) {
	const closed = 0 // TCPS_CLOSED
	info, err := unix.GetsockoptTCPConnectionInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_CONNECTION_INFO)
	if err != nil {
		return 0, err
	}
	if info.State == closed {
		return 0, errors.ErrUnsupported
	}
	return int(info.Snd_sbbytes), nil
}
