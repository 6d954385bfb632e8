package web

import (
	"net/http"
	"net/netip"
	"strings"
)

// visitor returns the address that a request comes from. Where the peer is a
// trusted proxy, that is the last address in X-Forwarded-For that is not a
// trusted proxy itself: each proxy adds the address that it saw at the end, and
// what stands before the last one that we trust is anybody's word. An entry that
// is no address ends the search at the proxy that sent it. The zero address
// stands for a peer without one.
func (s *Server) visitor(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	p := s.policy.Load()
	addr := peer.Addr().Unmap().WithZone("")
	rest := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for rest != "" && p.proxy(addr) {
		i := strings.LastIndexByte(rest, ',')
		entry := rest[i+1:]
		rest = rest[:max(i, 0)]
		next, ok := parseForwarded(entry)
		if !ok {
			break
		}
		addr = next
	}
	return addr
}

// parseForwarded reads an entry of X-Forwarded-For: an address, with a port or
// without.
func parseForwarded(entry string) (netip.Addr, bool) {
	entry = strings.TrimSpace(entry)
	if ap, err := netip.ParseAddrPort(entry); err == nil {
		return ap.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.Trim(entry, "[]"))
	if err != nil {
		return a, false
	}
	return a.Unmap().WithZone(""), true
}

// isNear reports whether an address is that of a machine in our own networks.
func isNear(a netip.Addr) bool {
	return !a.IsValid() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
}
