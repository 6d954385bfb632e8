//go:build !linux && !darwin

package netserve

import (
	"net"
	"net/netip"
)

// controlSpace is room for control messages; there are none here.
const controlSpace = 1

// askForDestination does nothing: on this system answers from a wildcard socket
// leave from the address that the system chooses.
func askForDestination(*net.UDPConn, netip.Addr) (controlKind, error) { return noControl, nil }

func parseDestination([]byte) netip.Addr { return netip.Addr{} }

func appendSource(b []byte, _ controlKind, _ netip.Addr) []byte { return b }

// grantedBuffers returns zeros: the sizes are unknown.
func grantedBuffers(uintptr) (read, write int) { return 0, 0 }
