//go:build !linux

package netserve

import (
	"errors"
	"syscall"
)

var errOneSocket = errors.New("this system does not spread datagrams over several sockets: use one")

// sharePort returns an error: this system lets sockets share an address but
// does not spread datagrams over them.
func sharePort(_, _ string, _ syscall.RawConn) error { return errOneSocket }
