package uplink

import (
	"iter"
	"maps"
	"net/netip"
)

// MaxHosts bounds the servers that a master knows, hidden ones included.
const MaxHosts = 1 << 17

// Hosts are the servers that a master knows, by their source. They are not safe for
// concurrent use.
type Hosts[H any] struct {
	known   map[netip.AddrPort]H
	perAddr map[netip.Prefix]int
}

// NewHosts returns Hosts without a server.
func NewHosts[H any]() Hosts[H] {
	return Hosts[H]{known: make(map[netip.AddrPort]H), perAddr: make(map[netip.Prefix]int)}
}

// countedAs returns the network that counts as one address: of IPv6 a network of /64.
func countedAs(a netip.Addr) netip.Prefix {
	bits := 32
	if !a.Is4() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // of a valid address, there is no error
	return p
}

// Len returns the number of servers.
func (t *Hosts[H]) Len() int { return len(t.known) }

// Addresses returns the number of addresses that have servers.
func (t *Hosts[H]) Addresses() int { return len(t.perAddr) }

// All returns the servers, in no particular order. The one returned last may be removed.
func (t *Hosts[H]) All() iter.Seq2[netip.AddrPort, H] { return maps.All(t.known) }

// Get returns a server.
func (t *Hosts[H]) Get(a netip.AddrPort) (h H, ok bool) {
	h, ok = t.known[a]
	return h, ok
}

// Refusal returns why another server of an address cannot be added. limit bounds those of an
// address; 0: no bound.
func (t *Hosts[H]) Refusal(a netip.Addr, limit int) Drop {
	switch {
	case limit > 0 && t.perAddr[countedAs(a)] >= limit:
		return TooMany
	case len(t.known) >= MaxHosts:
		return Full
	default:
		return NotDropped
	}
}

// Put adds a server, or replaces it.
func (t *Hosts[H]) Put(a netip.AddrPort, h H) {
	if _, known := t.known[a]; !known {
		t.perAddr[countedAs(a.Addr())]++
	}
	t.known[a] = h
}

// Remove removes a server and reports whether it was there.
func (t *Hosts[H]) Remove(a netip.AddrPort) bool {
	if _, known := t.known[a]; !known {
		return false
	}
	delete(t.known, a)
	count(t.perAddr, countedAs(a.Addr()))
	return true
}

// count counts one down.
func count[K comparable](m map[K]int, k K) {
	if m[k]--; m[k] <= 0 {
		delete(m, k)
	}
}
