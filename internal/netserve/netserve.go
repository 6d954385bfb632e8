// Package netserve is the packet loop and the connection loop that every
// service runs on. It carries bytes between sockets and handlers, enforces the
// limits that do not depend on a protocol (rates, connection counts, time-outs)
// and keeps a failure in one packet or connection from affecting others.
//
// A Gate decides which connections are served, which wait, and which are
// evicted when there are too many; ServeHTTP puts one in front of an
// http.Server.
//
// Where the system can (Linux), datagrams are read and answered in batches.
//
// It knows no protocol: it does not parse payloads, does not frame
// streams and does not decide which addresses are trusted. Sockets are opened
// before a service starts and passed in; the two Serve functions end when their
// context ends, and no goroutine that they started outlives them.
package netserve

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// isTransient reports whether a socket that returned err can be read from, or
// accepted on, again. Errors that the system reports about single datagrams,
// single connections or a momentary shortage are transient; a closed or broken
// socket is not.
func isTransient(err error) bool {
	if nerr, ok := errors.AsType[net.Error](err); ok && nerr.Timeout() {
		return true
	}
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && !isBrokenSocket(errno)
}

// addrPortOf returns the address and port of a, IPv4 addresses unmapped; zero
// if a is not an IP address.
func addrPortOf(a net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	switch a := a.(type) {
	case nil:
		return ap
	case *net.UDPAddr:
		ap = a.AddrPort()
	case *net.TCPAddr:
		ap = a.AddrPort()
	default:
		ap, _ = netip.ParseAddrPort(a.String()) // zero if it cannot be read
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
