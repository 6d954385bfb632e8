package uplink

import (
	"net/netip"
	"slices"

	"github.com/respawnd/respawnd/master"
)

// RowForm says what Rows keep of a server.
type RowForm[E any] struct {
	Game string // whose servers alone are looked at; empty: all
	Many int    // changes from which on the whole list is read again
	// Row returns the row of a record. ok is false if browsers do not see it.
	Row func(*master.Server) (row E, ok bool)
	// Group returns the group of a row; nil: all are in that of the zero ListKey.
	Group func(E) ListKey
	// Addr returns the address under which browsers get the server.
	Addr func(E) netip.AddrPort
	// Compare orders the rows of a group.
	Compare func(a, b E) int
	// Same reports whether browsers see no difference between two rows of a server.
	Same func(a, b E) bool
}

// Rows are the servers that browsers of a protocol see, in groups. They follow the list of
// servers. They are not safe for concurrent use.
type Rows[E, C any] struct {
	registry *master.Registry
	form     RowForm[E]
	read     bool // the groups are those of serial seen
	seen     uint64
	groups   map[ListKey]*Group[E, C]
	byKey    map[master.Key]E
	buf      []master.Change
	born     uint64 // groups so far
}

// Group holds the rows of a list.
type Group[E, C any] struct {
	Rows    []E // in their order; changed by Follow
	Private int // rows with a private address
	Made    C   // what was made from the rows; the zero value after each change
	born    uint64
}

// NewRows returns the Rows of a list of servers.
func NewRows[E, C any](r *master.Registry, form RowForm[E]) Rows[E, C] {
	return Rows[E, C]{registry: r, form: form, groups: make(map[ListKey]*Group[E, C]), byKey: make(map[master.Key]E)}
}

// Reset has the whole list read again.
func (r *Rows[E, C]) Reset() { r.read = false }

// Len returns the number of rows.
func (r *Rows[E, C]) Len() int { return len(r.byKey) }

// All returns the rows, if they are in one group.
func (r *Rows[E, C]) All() *Group[E, C] {
	var none E
	return r.group(none)
}

// Group returns the rows of a list; nil: there are none.
func (r *Rows[E, C]) Group(k ListKey) *Group[E, C] { return r.groups[k] }

// Follow applies the changes of the list of servers. The servers of more keys are looked at
// too: what their rows are made of has changed elsewhere.
func (r *Rows[E, C]) Follow(more ...master.Key) {
	if r.read {
		var ok bool
		var now uint64
		if r.buf, now, ok = r.registry.Changes(r.form.Game, r.seen, r.buf[:0]); ok && len(r.buf) < r.form.Many {
			r.seen = now
			for _, key := range more {
				r.update(key)
			}
			for i := range r.buf {
				r.update(r.buf[i].Key)
			}
			return
		}
	}
	r.readAll()
}

// readAll reads the whole list. The serial is read first, so that changes made
// meanwhile are read again.
func (r *Rows[E, C]) readAll() {
	r.seen, r.read = r.registry.LastSerial(), true
	clear(r.groups)
	clear(r.byKey)
	add := func(srv *master.Server) {
		if row, ok := r.form.Row(srv); ok {
			r.byKey[srv.Key] = row
			g := r.group(row)
			g.Rows = append(g.Rows, row)
			r.count(g, row, 1)
		}
	}
	if r.form.Game == "" {
		for _, srv := range r.registry.All() {
			add(srv.Server)
		}
	} else {
		for srv := range r.registry.List(r.form.Game) {
			add(srv)
		}
	}
	for _, g := range r.groups {
		slices.SortFunc(g.Rows, r.form.Compare)
	}
}

// group returns the group of a row, a new one if there is none.
func (r *Rows[E, C]) group(row E) *Group[E, C] {
	k := r.keyOf(row)
	g := r.groups[k]
	if g == nil {
		r.born++
		g = &Group[E, C]{born: r.born}
		r.groups[k] = g
	}
	return g
}

func (r *Rows[E, C]) keyOf(row E) ListKey {
	if r.form.Group == nil {
		return ListKey{}
	}
	return r.form.Group(row)
}

// update applies a change of a server.
func (r *Rows[E, C]) update(key master.Key) {
	old, had := r.byKey[key]
	var row E
	srv, has := r.registry.Listed(key) // not a hidden one
	if has {
		row, has = r.form.Row(srv)
	}
	if had == has && (!has || r.form.Same(old, row)) {
		return
	}
	if had {
		delete(r.byKey, key)
		r.remove(old)
	}
	if has {
		r.byKey[key] = row
		g := r.group(row)
		i, _ := slices.BinarySearchFunc(g.Rows, row, r.form.Compare)
		g.Rows = slices.Insert(g.Rows, i, row)
		r.changed(g, row, 1)
	}
}

// remove removes a row, and its group if that was the last one.
func (r *Rows[E, C]) remove(row E) {
	g := r.group(row)
	i, _ := slices.BinarySearchFunc(g.Rows, row, r.form.Compare)
	for !r.form.Same(g.Rows[i], row) { // another server has its place until its own change follows
		i++
	}
	g.Rows = slices.Delete(g.Rows, i, i+1)
	r.changed(g, row, -1)
	if len(g.Rows) == 0 {
		delete(r.groups, r.keyOf(row))
	}
}

// changed notes that a row was added (1) or removed (-1).
func (r *Rows[E, C]) changed(g *Group[E, C], row E, by int) {
	var none C
	g.Made = none
	r.count(g, row, by)
}

func (r *Rows[E, C]) count(g *Group[E, C], row E, by int) {
	if master.IsPrivate(r.form.Addr(row).Addr()) {
		g.Private += by
	}
}
