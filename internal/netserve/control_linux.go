package netserve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// info4Local is the offset in in_pktinfo of the address to answer from: the
// local address, which for a broadcast is that of the interface, not the
// broadcast address of the header.
const info4Local = 4

// sharePort lets several sockets bind one address; the system spreads datagrams
// over them by their source.
func sharePort(_, _ string, raw syscall.RawConn) error {
	return controlFD(raw, func(fd uintptr) error {
		return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
}

// grantedBuffers returns the receive and send buffer of a socket. Linux doubles
// the requested size, to make room for its own records, and reports the doubled
// size.
func grantedBuffers(fd uintptr) (read, write int) {
	read, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
	write, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
	return read / 2, write / 2
}
