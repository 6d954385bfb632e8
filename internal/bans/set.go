package bans

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// set is an immutable, searchable set of bans.
type set struct {
	list   []storage.Ban // sorted, as List returns them
	v4, v6 []level       // longest prefix first
}

// level holds the bans of one prefix length: masked address -> its bans, which
// differ in scope.
type level struct {
	bits  int
	addrs map[netip.Addr][]storage.Ban
}

// newSet returns a set of the bans in list, which it takes ownership of.
func newSet(list []storage.Ban) *set {
	slices.SortFunc(list, compareBans)
	s := &set{list: list}
	for _, b := range list {
		levels := &s.v6
		if b.Prefix.Addr().Is4() {
			levels = &s.v4
		}
		i := slices.IndexFunc(*levels, func(l level) bool { return l.bits == b.Prefix.Bits() })
		if i < 0 {
			i = len(*levels)
			*levels = append(*levels, level{b.Prefix.Bits(), make(map[netip.Addr][]storage.Ban)})
		}
		addrs := (*levels)[i].addrs
		addrs[b.Prefix.Addr()] = append(addrs[b.Prefix.Addr()], b)
	}
	for _, levels := range [][]level{s.v4, s.v6} {
		slices.SortFunc(levels, func(a, b level) int { return cmp.Compare(b.bits, a.bits) })
	}
	return s
}

// compareBans is the order of List.
func compareBans(a, b storage.Ban) int {
	return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()),
		cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()),
		cmp.Compare(a.Scope, b.Scope))
}

// find is Table.Check; nil means not banned. The result belongs to the set.
func (s *set) find(scope storage.Scope, a netip.Addr, now time.Time) *storage.Ban {
	a = a.Unmap().WithZone("")
	levels := s.v6
	if a.Is4() {
		levels = s.v4
	}
	for _, l := range levels {
		p, err := a.Prefix(l.bits)
		if err != nil || !p.IsValid() { // the zero Addr is never banned
			return nil
		}
		bans := l.addrs[p.Addr()]
		for i := range bans {
			if b := &bans[i]; (b.Scope == scope || b.Scope == storage.ScopeAll) && !b.Expired(now) {
				return b
			}
		}
	}
	return nil
}
