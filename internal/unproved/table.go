// Package unproved is for services that list a host only after it answered a
// challenge. It keeps packets with forged source addresses from shutting real
// hosts out: with challenges that need no memory, and a table of waiting hosts
// in which one address cannot push out the others.
//
// It knows no protocol, sends nothing and does not limit rates.
package unproved

import (
	"container/list"
	"iter"
	"net/netip"
)

// Shares of a full table. The entries of an address or port that has more are removed
// before others.
const (
	// AddrShare is how many entries an address keeps in a full table.
	AddrShare = 256
	// PortShare is how many of them one of its ports keeps.
	PortShare = 16
)

// Table holds the hosts that have not proved their address yet. The caller sets
// the limit. While the table is full, an entry is removed for each new one:
//
//   - if the address of the new one has its share, the oldest of that address,
//   - else the oldest of some address that has more than its share,
//   - else the oldest of all.
//
// Within an address, entries of ports with more than their share are removed
// first in the same way. So a flood from one address never pushes out the hosts
// of others, and a flood from many addresses pushes out the oldest.
//
// It is not safe for concurrent use.
type Table[K comparable, V any] struct {
	entries   map[K]*entry[K, V]
	all       list.List // of *entry, oldest first
	addrs     map[netip.Addr]*sourceEntries
	ports     map[netip.AddrPort]*sourceEntries
	overShare list.List // of *sourceEntries, addresses with more than their share
}

type entry[K comparable, V any] struct {
	key                    K
	value                  V
	source                 netip.AddrPort
	inAll, inAddr, inPorts *list.Element
}

// sourceEntries holds the entries of an address or a port.
type sourceEntries struct {
	entries   list.List     // of *entry, oldest first
	overShare list.List     // of an address: of *sourceEntries, its ports with more than their share
	index     *list.Element // in the list of those over their share, nil if it is not
	budget    Budget
}

// count keeps c in the list overShare while it has more entries than its share.
func (c *sourceEntries) count(overShare *list.List, share int) {
	switch over := c.entries.Len() > share; {
	case over && c.index == nil:
		c.index = overShare.PushBack(c)
	case !over && c.index != nil:
		overShare.Remove(c.index)
		c.index = nil
	}
}

// NewTable returns an empty Table.
func NewTable[K comparable, V any]() *Table[K, V] {
	return &Table[K, V]{
		entries: make(map[K]*entry[K, V]),
		addrs:   make(map[netip.Addr]*sourceEntries),
		ports:   make(map[netip.AddrPort]*sourceEntries),
	}
}

// Len returns the number of entries.
func (t *Table[K, V]) Len() int { return len(t.entries) }

// Get returns the entry of a key.
func (t *Table[K, V]) Get(k K) (v V, ok bool) {
	if e := t.entries[k]; e != nil {
		return e.value, true
	}
	return v, false
}

// All returns the entries, the oldest first. The entry returned last may be
// removed during the iteration.
func (t *Table[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for el := t.all.Front(); el != nil; {
			next := el.Next()
			e := el.Value.(*entry[K, V])
			if !yield(e.key, e.value) {
				return
			}
			el = next
		}
	}
}

// Full returns the entry to remove before one of a source may be added, if the
// table holds limit entries or more. The caller removes it and calls Full
// again.
func (t *Table[K, V]) Full(source netip.AddrPort, limit int) (k K, full bool) {
	if len(t.entries) < max(limit, 1) {
		return k, false
	}
	from := &t.all
	if a := t.addrs[source.Addr()]; a != nil && a.entries.Len() >= AddrShare {
		from = a.oldest(t.ports[source])
	} else if el := t.overShare.Front(); el != nil {
		from = el.Value.(*sourceEntries).oldest(nil)
	}
	return from.Front().Value.(*entry[K, V]).key, true
}

// oldest returns the list of an address whose first entry is to be removed.
// port is the sourceEntries of the new host's port, nil if it has none.
func (c *sourceEntries) oldest(port *sourceEntries) *list.List {
	if port != nil && port.entries.Len() >= PortShare {
		return &port.entries
	}
	if el := c.overShare.Front(); el != nil {
		return &el.Value.(*sourceEntries).entries
	}
	return &c.entries
}

// Add adds an entry as the newest one. The key must not be in the table.
func (t *Table[K, V]) Add(k K, source netip.AddrPort, v V) {
	a, p := t.addrs[source.Addr()], t.ports[source]
	if a == nil {
		a = new(sourceEntries)
		t.addrs[source.Addr()] = a
	}
	if p == nil {
		p = new(sourceEntries)
		t.ports[source] = p
	}
	e := &entry[K, V]{key: k, value: v, source: source}
	e.inAll, e.inAddr, e.inPorts = t.all.PushBack(e), a.entries.PushBack(e), p.entries.PushBack(e)
	t.entries[k] = e
	a.count(&t.overShare, AddrShare)
	p.count(&a.overShare, PortShare)
}

// Remove removes an entry and reports whether there was one.
func (t *Table[K, V]) Remove(k K) bool {
	e := t.entries[k]
	if e == nil {
		return false
	}
	a, p := t.addrs[e.source.Addr()], t.ports[e.source]
	delete(t.entries, k)
	t.all.Remove(e.inAll)
	a.entries.Remove(e.inAddr)
	p.entries.Remove(e.inPorts)
	a.count(&t.overShare, AddrShare)
	p.count(&a.overShare, PortShare)
	if p.entries.Len() == 0 {
		delete(t.ports, e.source)
	}
	if a.entries.Len() == 0 {
		delete(t.addrs, e.source.Addr())
	}
	return true
}

// Evict removes entries until one of a source may be added to a table of at most limit,
// and returns their number. remove removes an entry; nil: Remove does.
func (t *Table[K, V]) Evict(source netip.AddrPort, limit int, remove func(V)) (gone int) {
	for {
		k, full := t.Full(source, limit)
		if !full {
			return gone
		}
		if v, ok := t.Get(k); ok && remove != nil {
			remove(v)
		} else {
			t.Remove(k)
		}
		gone++
	}
}

// Budget counts the bytes received from and sent to sources that have not proved their address.
type Budget struct{ In, Out int }

// Spend reports whether n more bytes may be sent, and counts them: no more than came. The
// first bytes may be more, up to first.
func (b *Budget) Spend(n, first int) bool {
	if b.Out+n > b.In && (b.Out > 0 || n > first) {
		return false
	}
	b.Out += n
	return true
}

// PortBudget returns the budget that the entries of a source share, nil if it has none.
func (t *Table[K, V]) PortBudget(source netip.AddrPort) *Budget {
	if c := t.ports[source]; c != nil {
		return &c.budget
	}
	return nil
}

// AddrBudget returns the budget that the entries of an address share, nil if it has none.
func (t *Table[K, V]) AddrBudget(a netip.Addr) *Budget {
	if c := t.addrs[a]; c != nil {
		return &c.budget
	}
	return nil
}
