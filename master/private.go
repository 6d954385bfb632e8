package master

import (
	"net/netip"
	"slices"
)

// IsPrivate reports whether an address is valid only on this machine or in its
// own network: loopback, private or link-local IPv4.
func IsPrivate(a netip.Addr) bool {
	return a.Is4() && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast())
}

// varies reports whether the addresses that lists show of the server can depend
// on the asker.
func (s *Server) varies() bool { return len(s.Local) > 1 || IsPrivate(s.Public.Addr()) }

// Varies reports whether the list of a game has servers whose address may
// depend on the asker: those with a private public address or with several
// local ones. For all other games one list serves all askers.
func (r *Registry) Varies(game string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, name := range r.groups[game] {
		if r.games[name].varies() {
			return true
		}
	}
	return r.games[game].varies()
}

// varies is Varies for the servers of one game; g may be nil.
func (g *gameIndex) varies() bool { return g != nil && g.varying > 0 }

// vary counts a record that is added to (1) or removed from (-1) the game.
func (g *gameIndex) vary(s *Server, by int) {
	if s.varies() {
		g.varying += by
	}
}

// PrivateOn returns the listed servers whose public address is private, on a
// port, in no particular order.
func (r *Registry) PrivateOn(port uint16) (list []*Server) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range r.private[port] {
		if e.game != &r.hidden {
			list = append(list, e.server)
		}
	}
	return list
}

// AnyPrivate reports whether there is a server with a private public address,
// hidden ones included.
func (r *Registry) AnyPrivate() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.private) > 0
}

// Near reports whether there is a server in the /24 network of an address,
// hidden ones included.
func (r *Registry) Near(a netip.Addr) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.perNet[network(a)] != nil
}

// addPrivate adds an entry to the index of private servers if it belongs there.
func (r *Registry) addPrivate(e *entry) {
	at := e.server.Public
	if !IsPrivate(at.Addr()) {
		return
	}
	list := r.private[at.Port()]
	e.onPort = int32(len(list))
	r.private[at.Port()] = append(list, e)
}

// removePrivate undoes addPrivate.
func (r *Registry) removePrivate(e *entry) {
	at := e.server.Public
	if !IsPrivate(at.Addr()) {
		return
	}
	list := r.private[at.Port()]
	last := len(list) - 1
	if last == 0 {
		delete(r.private, at.Port())
		return
	}
	list[last].onPort = e.onPort
	list[e.onPort] = list[last]
	list[last] = nil
	list = list[:last]
	if cap(list) > 64 && last < cap(list)/4 {
		list = slices.Clone(list)
	}
	r.private[at.Port()] = list
}
