// Package porttest chooses ports for tests that must give them by number: for nodes
// that must know each other's address before they start, and for servers that are
// started again at the same address.
//
// A port that the system chose (port 0) is unsuitable once its socket is closed: the
// system may choose it again, for a listener of another test or for a connection. The
// ports of this package are below those that systems choose from, 32768 on Linux and
// 49152 elsewhere, so only a program that asks for one of them by number gets it.
//
// It is for tests only.
package porttest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
)

// first and last are the ports that are chosen from, between those of the games.
const (
	first = 30100
	last  = 32700
)

// chosen is the port that was chosen last. Processes that run at the same time begin at
// different ones.
var chosen = struct {
	sync.Mutex
	port uint16
}{port: first + rand.N[uint16](last-first+1)}

// TCP returns a TCP port of an IPv4 address that no socket has, with the address. The
// process does not get it again before all others were chosen.
func TCP(at netip.Addr) (netip.AddrPort, error) {
	chosen.Lock()
	defer chosen.Unlock()
	var failed error
	for range last - first + 1 {
		if chosen.port++; chosen.port > last {
			chosen.port = first
		}
		address := netip.AddrPortFrom(at, chosen.port)
		ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", address.String())
		if err == nil {
			return address, ln.Close()
		}
		failed = err
	}
	return netip.AddrPort{}, errors.Join(errors.New("no port is free"), failed)
}
