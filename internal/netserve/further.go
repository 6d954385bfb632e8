package netserve

import (
	"context"
	"errors"
	"math"
	"net"
	"net/netip"
	"strconv"

	"github.com/rs/zerolog"
)

// Further is a socket for a further port of a protocol.
type Further struct {
	Conn *PacketConn
	Port uint16 // of the protocol, that it stands for
}

// Ports are the UDP ports of a protocol.
type Ports struct {
	Network string // "udp4", or "udp" for IPv6 too
	Address string // of the first socket, in the configuration
	// Further ports are opened on the same host, at the same distance from the first as from the Usual one;
	// on any free port if the first is 0.
	Usual   uint16
	Further []uint16
}

// Sockets are those of the ports of a protocol.
type Sockets struct {
	First   *PacketConn
	Further []Further
	ports   Ports
}

// Open opens the sockets. A further one that cannot be opened is left out with a warning, as it is
// needed by few games.
func (p Ports) Open(ctx context.Context, o ListenOptions, log zerolog.Logger) (*Sockets, error) {
	conn, err := ListenPackets(ctx, p.Network, p.Address, o)
	if err != nil {
		return nil, err
	}
	s := &Sockets{First: conn, ports: p}
	host, text, _ := net.SplitHostPort(p.Address) // it was opened
	base, _ := strconv.Atoi(text)
	for _, port := range p.Further {
		at := 0
		if base != 0 {
			at = base + int(port) - int(p.Usual)
		}
		if at < 0 || at > math.MaxUint16 || (at == 0 && base != 0) {
			log.Warn().Uint16("port", port).Str("address", p.Address).Msg("a further port of the protocol would not be a port here: left out")
			continue
		}
		conn, err := ListenPackets(ctx, p.Network, net.JoinHostPort(host, strconv.Itoa(at)), o)
		if err != nil {
			log.Warn().Err(err).Uint16("port", port).Msg("a further port of the protocol could not be opened: its games cannot ask here")
			continue
		}
		s.Further = append(s.Further, Further{conn, port})
	}
	return s, nil
}

// Close closes the sockets.
func (s *Sockets) Close() error {
	errs := []error{s.First.Close()}
	for _, f := range s.Further {
		errs = append(errs, f.Conn.Close())
	}
	return errors.Join(errs...)
}

// Addresses returns the addresses of all sockets.
func (s *Sockets) Addresses() []netip.AddrPort {
	all := []netip.AddrPort{s.First.LocalAddr()}
	for _, f := range s.Further {
		all = append(all, f.Conn.LocalAddr())
	}
	return all
}

// Opened returns the ports of further sockets with the host of the first one, such as ":27655". Those
// that the system chose are left out.
func (s *Sockets) Opened() (all []string) {
	host, port, err := net.SplitHostPort(s.ports.Address)
	if err != nil || port == "0" {
		return nil
	}
	for _, f := range s.Further {
		all = append(all, net.JoinHostPort(host, strconv.Itoa(int(f.Conn.LocalAddr().Port()))))
	}
	return all
}
