package master

import (
	"net/netip"
	"slices"
)

// nearlyFull is the part of Limits.Servers, in percent, from which newcomers
// replace others.
const nearlyFull = 90

// Kinds of groups.
const (
	byAddr = iota // of a source address
	byNet         // of its /24 (IPv6: /64)
	groupKinds
)

// group holds the servers of one address or network. Those that a newcomer may
// replace form a list, in the order in which they were listed.
type group struct {
	kind        int
	members     int // servers, those that may not be replaced included
	replaceable int
	last        *entry // the newest that may be replaced
	before      *group // others with as many replaceable servers
	after       *group
	federated   map[*entry]struct{} // the members with that origin; nil: none
}

// link joins an entry to the list of one of its groups.
type link struct {
	group *group
	older *entry
	newer *entry
}

// ranking orders the groups of one kind by their number of replaceable servers,
// so that finding the largest, and changing a number by one, take constant
// time.
type ranking struct {
	ranks []*group // by number, 0 is not used; each the first of a chain
	most  int      // number of the largest group
}

func (k *ranking) insert(g *group) {
	n := g.replaceable
	if n == 0 {
		return
	}
	if n >= len(k.ranks) {
		k.ranks = append(k.ranks, make([]*group, n+1-len(k.ranks))...)
	}
	g.before, g.after = nil, k.ranks[n]
	if g.after != nil {
		g.after.before = g
	}
	k.ranks[n] = g
	k.most = max(k.most, n)
}

func (k *ranking) remove(g *group) {
	if g.replaceable == 0 {
		return
	}
	if g.after != nil {
		g.after.before = g.before
	}
	if g.before != nil {
		g.before.after = g.after
	} else {
		k.ranks[g.replaceable] = g.after
	}
	for k.most > 0 && k.ranks[k.most] == nil {
		k.most--
	}
}

// largest returns a group with the most replaceable servers; nil if there are
// none.
func (k *ranking) largest() *group {
	if k.most == 0 {
		return nil
	}
	return k.ranks[k.most]
}

func (r *Registry) join(e *entry) {
	a := e.server.Key.Source.Addr()
	e.links[byAddr].group = memberOf(r.perAddr, a, byAddr)
	e.links[byNet].group = memberOf(r.perNet, network(a), byNet)
	r.mark(e)
	if e.server.Origin == Federated {
		r.federated[e] = struct{}{}
		for i := range e.links {
			g := e.links[i].group
			if g.federated == nil {
				g.federated = make(map[*entry]struct{})
			}
			g.federated[e] = struct{}{}
		}
	}
}

func memberOf[K comparable](groups map[K]*group, k K, kind int) *group {
	g := groups[k]
	if g == nil {
		g = &group{kind: kind}
		groups[k] = g
	}
	g.members++
	return g
}

// quit removes an entry from its groups.
func (r *Registry) quit(e *entry) {
	r.unmark(e)
	a := e.server.Key.Source.Addr()
	delete(r.federated, e)
	for i := range e.links {
		e.links[i].group.members--
		delete(e.links[i].group.federated, e)
	}
	if e.links[byAddr].group.members == 0 {
		delete(r.perAddr, a)
	}
	if e.links[byNet].group.members == 0 {
		delete(r.perNet, network(a))
	}
}

// protected reports whether a server is never replaced by a newcomer: while it is of
// another node or restored, if an operator named it or it is on the operator's network, and
// if Limits.Exempt exempts it.
func (r *Registry) protected(s *Server) bool {
	return s.Node != "" || s.Restored || s.Origin == Static || s.Origin == Found || r.exempt(s.Key.Source.Addr())
}

func (r *Registry) exempt(a netip.Addr) bool { return r.limits.Exempt != nil && r.limits.Exempt(a) }

// mark makes an entry the newest of those that may be replaced, or removes it
// from them, as the limits require.
func (r *Registry) mark(e *entry) {
	switch {
	case r.protected(e.server):
		r.unmark(e)
	case !e.replaceable:
		e.replaceable = true
		for i := range e.links {
			l := &e.links[i]
			g := l.group
			r.ranks[i].remove(g)
			l.older, l.newer = g.last, nil
			if g.last != nil {
				g.last.links[i].newer = e
			}
			g.last = e
			g.replaceable++
			r.ranks[i].insert(g)
		}
	}
}

// unmark removes an entry from those that may be replaced.
func (r *Registry) unmark(e *entry) {
	if !e.replaceable {
		return
	}
	e.replaceable = false
	for i := range e.links {
		l := &e.links[i]
		g := l.group
		r.ranks[i].remove(g)
		if l.older != nil {
			l.older.links[i].newer = l.newer
		}
		if l.newer != nil {
			l.newer.links[i].older = l.older
		} else {
			g.last = l.older
		}
		l.older, l.newer = nil, nil
		g.replaceable--
		r.ranks[i].insert(g)
	}
}

// members returns how many servers an address and its network have.
func (r *Registry) members(a netip.Addr) (addr, net int) {
	if g := r.perAddr[a]; g != nil {
		addr = g.members
	}
	if g := r.perNet[network(a)]; g != nil {
		net = g.members
	}
	return addr, net
}

// weight returns the larger used share of the limits per address and network,
// in a unit for comparisons only.
func (r *Registry) weight(addr, net int) int {
	return max(addr*r.limits.PerNet, net*r.limits.PerAddr)
}

// largest returns the group that uses most of its limit, and its weight; nil if
// no server may be replaced.
func (r *Registry) largest() (largest *group, weight int) {
	if g := r.ranks[byAddr].largest(); g != nil {
		largest, weight = g, r.weight(g.replaceable, 0)
	}
	if g := r.ranks[byNet].largest(); g != nil && r.weight(0, g.replaceable) > weight {
		largest, weight = g, r.weight(0, g.replaceable)
	}
	return largest, weight
}

// outweighed returns the server that a newcomer to a nearlyFull list replaces: the
// newest of the address or network that uses most of its limit. It is nil if the
// newcomer's own would then use as much. Federated servers replace none, and are
// replaced first.
func (r *Registry) outweighed(s *Server) *entry {
	switch {
	case s.Restored, s.Origin == Federated, len(r.bySource) < r.limits.Servers*nearlyFull/100:
		return nil
	}
	if e := anyOf(r.federated); e != nil {
		return e
	}
	weight := 0
	if !r.protected(s) {
		addr, net := r.members(s.Key.Source.Addr())
		weight = r.weight(addr+1, net+1)
	}
	for {
		g, most := r.largest()
		if g == nil || most <= weight {
			return nil
		}
		e := g.last
		if !r.protected(e.server) {
			return e
		}
		r.unmark(e) // exempt meanwhile
	}
}

// yielding returns a federated server that leaves for one that is not, which an
// address or network would have no room for otherwise; nil: there is none, or none is
// needed. Servers of other sources take no room from those that report here.
func (r *Registry) yielding(s *Server) *entry {
	a := s.Key.Source.Addr()
	if s.Origin == Federated || r.exempt(a) {
		return nil
	}
	if g := r.perAddr[a]; g != nil && g.members >= r.limits.PerAddr {
		return anyOf(g.federated)
	}
	if g := r.perNet[network(a)]; g != nil && g.members >= r.limits.PerNet {
		return anyOf(g.federated)
	}
	return nil
}

func anyOf(set map[*entry]struct{}) *entry {
	for e := range set {
		return e
	}
	return nil
}

// maxReplaced is how many replaced servers wait for a reader of Replaced.
const maxReplaced = 1024

// Replaced returns the channel of servers that newcomers replaced in a nearlyFull
// list. If its reader is more than 1,024 servers behind, further ones are counted
// and not sent.
func (r *Registry) Replaced() <-chan *Server { return r.replaced }

// ReplacedTotal returns how many servers were replaced by newcomers.
func (r *Registry) ReplacedTotal() uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.replacedTotal
}

// giveWay removes a server from the list for a newcomer.
func (r *Registry) giveWay(e *entry) {
	r.remove(e)
	r.replacedTotal++
	select {
	case r.replaced <- e.server:
	default:
	}
}

// markAll marks every entry again, oldest first, after the limits changed.
func (r *Registry) markAll() {
	all := make([]*entry, 0, len(r.bySource))
	for _, e := range r.bySource {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int { return a.server.First.Compare(b.server.First) })
	for _, e := range all {
		r.mark(e)
	}
}
