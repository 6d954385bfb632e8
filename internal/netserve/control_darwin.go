package netserve

import "golang.org/x/sys/unix"

// info4Local is the offset in in_pktinfo of the address to answer from: only
// the destination address of the header is filled in here.
const info4Local = 8

// grantedBuffers returns the receive and send buffer of a socket.
func grantedBuffers(fd uintptr) (read, write int) {
	read, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
	write, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
	return read, write
}
