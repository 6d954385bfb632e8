package master

import (
	"net/netip"
	"strconv"
	"strings"
)

// ID returns the identifier of the server for tools; see AppendID.
func (s *Server) ID() string { return string(AppendID(nil, s.Origin, s.Public)) }

// AppendID appends the id of a server: origin, address and query port. It stays
// the same while the server has that address, restarts included.
func AppendID(dst []byte, origin Origin, public netip.AddrPort) []byte {
	dst = append(dst, origin.String()...)
	dst = append(dst, '-')
	dst = public.Addr().AppendTo(dst)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, uint64(public.Port()), 10)
}

// ParseID is the inverse of AppendID.
func ParseID(id string) (origin Origin, public netip.AddrPort, ok bool) {
	name, rest, _ := strings.Cut(id, "-")
	origin, ok = ParseOrigin(name)
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return 0, public, false
	}
	addr, err := netip.ParseAddr(rest[:i])
	if err != nil {
		return 0, public, false
	}
	port, err := strconv.ParseUint(rest[i+1:], 10, 16)
	if err != nil {
		return 0, public, false
	}
	return origin, netip.AddrPortFrom(addr, uint16(port)), true
}
