package master

import (
	"net/netip"
	"slices"
	"time"
)

// remoteState is the state of the cluster in the list. The zero value is that of a
// lone node.
type remoteState struct {
	self  string                    // name of this node
	addrs map[netip.Addr]struct{}   // addresses that may have too many servers
	nets  map[netip.Prefix]struct{} // networks that may
}

// remote is the state of an entry in the cluster.
type remote struct {
	// claims decides between nodes that list the same server: the higher one has it,
	// with equal ones the node whose name comes last. A server that reports to another
	// node gets a higher one there. Restored servers have 0.
	claim    uint32
	orphaned bool // its node is gone
}

// claim gives an entry a claim, at least 1 unless it is restored. It is no orphan then.
func (e *entry) claim(n uint32) {
	if n == 0 && !e.server.Restored {
		n = 1
	}
	e.remote = remote{claim: n}
}

func (e *entry) nextClaim(next *Server) uint32 {
	if e.server.Node != "" && next.Node == "" {
		return e.remote.claim + 1
	}
	return e.remote.claim
}

// own returns the entry of a source of this node. r.mu is held.
func (r *Registry) own(source netip.AddrPort) (*entry, bool) {
	e, ok := r.bySource[source]
	if !ok || e.server.Node != "" {
		return nil, false
	}
	return e, true
}

// SetNode names this node in a cluster. It is called once, before other nodes' servers
// are listed.
func (r *Registry) SetNode(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cluster = remoteState{self: name, addrs: make(map[netip.Addr]struct{}), nets: make(map[netip.Prefix]struct{})}
}

// Claimed returns the record of a listed server of this node under a source, with its
// claim; see PutRemote.
func (r *Registry) Claimed(source netip.AddrPort) (s *Server, claim uint32, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.own(source)
	if !ok || e.game == &r.hidden {
		return nil, 0, false
	}
	return e.server, e.remote.claim, true
}

// OwnSources appends the sources of the listed servers of this node to buf.
func (r *Registry) OwnSources(buf []netip.AddrPort) []netip.AddrPort {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for source, e := range r.bySource {
		if e.server.Node == "" && e.game != &r.hidden {
			buf = append(buf, source)
		}
	}
	return buf
}

// PutRemote lists a server of the node s.Node, or replaces its record, which must not change
// afterwards. Limits per
// address and network do not refuse it, see Settle; more than maxRemote servers in
// total do. If this node or a third one claims the same source or public address
// with a higher claim, the list is unchanged and the result false. A server that moved
// keeps its place in the list: followers see a change.
func (r *Registry) PutRemote(s *Server, claim uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.bySource[s.Key.Source]
	other, taken := r.byPublicLocked(s.Public)
	if taken && other == e {
		taken = false
	}
	if e != nil && !r.yields(e, s.Node, claim) || taken && !r.yields(other, s.Node, claim) {
		return false
	}
	switch {
	case e == nil && !taken:
		if len(r.bySource) >= r.limits.Servers+r.limits.Servers/maxRemote {
			return false
		}
		e = r.add(s)
		r.suspect(s.Key.Source.Addr())
	case e == nil:
		e = r.takeOver(other, s, claim)
	default:
		if taken {
			r.remove(other)
		}
		e = r.takeOver(e, s, claim)
	}
	e.remote = remote{claim: claim}
	return true
}

// maxRemote is the part of Limits.Servers by which servers of other nodes may exceed
// it: each node refuses newcomers of its own at the limit.
const maxRemote = 10

// yields reports whether an entry gives way to the claim of a node.
func (r *Registry) yields(e *entry, node string, claim uint32) bool {
	holder := e.server.Node
	if holder == "" {
		holder = r.cluster.self
	}
	switch {
	case holder == node || e.remote.orphaned:
		return true
	case claim != e.remote.claim:
		return claim > e.remote.claim
	}
	return node > holder
}

// takeOver gives an entry the record of the same server from another node, or from
// another source. Followers see a change, unless it is not the same game and public
// address.
func (r *Registry) takeOver(e *entry, s *Server, claim uint32) *entry {
	old := e.server
	if old.Game != s.Game || old.Public != s.Public {
		r.remove(e)
		e = r.add(s)
		e.claim(claim)
		return e
	}
	if s.First.IsZero() {
		s.First = old.First
	}
	if old.Key.Source == s.Key.Source {
		r.renew(e, s)
		e.claim(claim)
		return e
	}
	if e.game != &r.hidden {
		r.log.add(Changed, old) // followers that go by keys see that this one is gone
	}
	r.quit(e)
	delete(r.bySource, old.Key.Source)
	delete(r.byPublic, old.Public)
	moved := *old
	moved.Key = s.Key
	e.server = &moved
	r.bySource[s.Key.Source] = e
	if s.Public != s.Key.Source {
		r.byPublic[s.Public] = e
	}
	r.join(e)
	r.renew(e, s)
	e.claim(claim)
	return e
}

// RemoveRemote removes a server that a node removed. It returns false if that node
// no longer has it.
func (r *Registry) RemoveRemote(node string, source netip.AddrPort) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.bySource[source]
	if !ok || e.server.Node != node {
		return false
	}
	r.remove(e)
	return true
}

// RemoveRemoteFunc removes every server of other nodes for which del returns true. del
// is called with the list locked, so it must be fast.
func (r *Registry) RemoveRemoteFunc(del func(*Server) bool) (removed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.remoteOf("") {
		if del(e.server) {
			r.remove(e)
			removed++
		}
	}
	return removed
}

// remoteOf returns the entries of a node, "" for all others than this one.
func (r *Registry) remoteOf(node string) (list []*entry) {
	for _, e := range r.bySource {
		if n := e.server.Node; n != "" && (node == "" || n == node) {
			list = append(list, e)
		}
	}
	return list
}

// Orphan notes that a node is gone: its servers stay until they are removed, or listed again by
// whatever node.
func (r *Registry) Orphan(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.since(time.Now())
	for _, e := range r.remoteOf(node) {
		if !e.remote.orphaned {
			e.seen.Store(now)
			e.remote.orphaned = true
		}
	}
}

// RemoteCounts returns the number of servers of each other node, hidden ones included.
func (r *Registry) RemoteCounts() map[string]int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make(map[string]int)
	for _, e := range r.bySource {
		if e.server.Node != "" {
			out[e.server.Node]++
		}
	}
	return out
}

// suspect notes an address that may have too many servers, and its network.
func (r *Registry) suspect(a netip.Addr) {
	addr, net := r.members(a)
	if addr > r.limits.PerAddr {
		r.cluster.addrs[a] = struct{}{}
	}
	if net > r.limits.PerNet {
		r.cluster.nets[network(a)] = struct{}{}
	}
}

// Settle removes the servers of this node that are too many on their address or
// network since another node listed some at the same time, and returns them. The ones
// that were listed first stay, so every node comes to the same result.
func (r *Registry) Settle() (removed []*Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.cluster.addrs)+len(r.cluster.nets) == 0 {
		return nil
	}
	addrs, nets := make(map[netip.Addr][]*entry), make(map[netip.Prefix][]*entry)
	for source, e := range r.bySource {
		if r.exempt(source.Addr()) {
			continue
		}
		if _, many := r.cluster.addrs[source.Addr()]; many {
			addrs[source.Addr()] = append(addrs[source.Addr()], e)
		}
		if _, many := r.cluster.nets[network(source.Addr())]; many {
			nets[network(source.Addr())] = append(nets[network(source.Addr())], e)
		}
	}
	clear(r.cluster.addrs)
	clear(r.cluster.nets)
	for _, list := range addrs {
		removed = r.removeBeyond(list, r.limits.PerAddr, removed)
	}
	for _, list := range nets {
		removed = r.removeBeyond(list, r.limits.PerNet, removed)
	}
	return removed
}

// removeBeyond removes the servers of this node after the first ones.
func (r *Registry) removeBeyond(list []*entry, most int, removed []*Server) []*Server {
	if len(list) <= most {
		return removed
	}
	slices.SortFunc(list, func(a, b *entry) int {
		if c := a.server.First.Compare(b.server.First); c != 0 {
			return c
		}
		return a.server.Key.Source.Compare(b.server.Key.Source)
	})
	for _, e := range list[most:] {
		if e.server.Node == "" && r.bySource[e.server.Key.Source] == e {
			removed = append(removed, e.server)
			r.remove(e)
		}
	}
	return removed
}

// appendOwn appends the servers of an index that are of this node. r.mu is held.
func (r *Registry) appendOwn(g *gameIndex, out []Record) []Record {
	for _, e := range g.entries {
		if e.server.Node == "" {
			out = append(out, r.record(e))
		}
	}
	return out
}

// GetAny is Get for the servers of all nodes.
func (r *Registry) GetAny(k Key) (*Server, bool) {
	s, ok := r.AtAny(k.Source)
	if !ok || s.Key != k {
		return nil, false
	}
	return s, true
}

// AtAny is At for the servers of all nodes.
func (r *Registry) AtAny(source netip.AddrPort) (*Server, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.bySource[source]
	if !ok {
		return nil, false
	}
	return e.server, true
}
