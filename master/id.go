package master

import (
	"net/netip"
	"strconv"
	"strings"
)

// ID returns the identifier of the server for tools; see AppendID.
func (s *Server) ID() string { return string(AppendID(nil, s.Origin.Name, s.Public)) }

// AppendID appends the id of a server: name of its origin, address and query port. It stays
// the same while the server has that address, restarts included.
func AppendID(dst []byte, origin string, public netip.AddrPort) []byte {
	dst = append(dst, origin...)
	dst = append(dst, '-')
	dst = public.Addr().AppendTo(dst)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, uint64(public.Port()), 10)
}

// ParseID is the inverse of AppendID.
func ParseID(id string) (origin string, public netip.AddrPort, ok bool) {
	origin, rest, _ := strings.Cut(id, "-")
	i := strings.LastIndexByte(rest, '-')
	if i < 0 || !isOriginName(origin) {
		return "", public, false
	}
	addr, err := netip.ParseAddr(rest[:i])
	if err != nil {
		return "", public, false
	}
	port, err := strconv.ParseUint(rest[i+1:], 10, 16)
	if err != nil {
		return "", public, false
	}
	return origin, netip.AddrPortFrom(addr, uint16(port)), true
}

func isOriginName(name string) bool {
	return name != "" && len(name) <= maxOriginName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

const maxOriginName = 32
