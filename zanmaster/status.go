package zanmaster

import (
	"net/netip"
	"slices"
	"time"
)

// Host is a game server that has verified its address, for the operator.
type Host struct {
	Addr        netip.AddrPort
	Revision    uint32
	Enforces    bool // it claims to enforce the ban list
	Listed      bool
	First, Seen time.Time
	BanList     bool // it has acknowledged the ban list that is in force
}

// Hosts returns the servers that have verified their address, hidden ones
// included, ordered by address.
func (s *Server) Hosts() []Host {
	version := s.access.Load().version
	s.mu.Lock()
	list := make([]Host, 0, s.hosts.known.Len())
	for _, h := range s.hosts.known.All() {
		list = append(list, Host{h.addr, h.revision, h.enforces, h.listed, h.first, h.seen, h.push.has == version})
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b Host) int { return a.Addr.Compare(b.Addr) })
	return list
}
