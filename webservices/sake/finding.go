package sake

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/respawnd/respawnd/storage"
)

// maxSortText is how many bytes of a text are compared.
const maxSortText = 64

// found is a row that a search found.
type found struct {
	id     uint32
	random uint64 // in a random order: its position
	keys   []storage.SakeValue
}

// read sets row to the row that slots has read. It shares the memory of the slots.
func (o *order) read(row *found, id uint32, s *slots) {
	row.id, row.keys = id, row.keys[:0]
	if o.random {
		row.random = maphash.Comparable(o.seed, id)
	}
	for _, by := range o.by {
		v := s.values[by.slot]
		v.Text = v.Text[:min(len(v.Text), maxSortText)]
		row.keys = append(row.keys, v)
	}
}

// compare orders found rows. No two rows are equal.
func (o *order) compare(a, b *found) int {
	n := o.compareRising(a, b)
	if o.falling {
		return -n
	}
	return n
}

func (o *order) compareRising(a, b *found) int {
	work := 0
	for i, by := range o.by {
		x, y := &a.keys[i], &b.keys[i]
		n, ok := compareValues(x, y, &work)
		if !ok {
			n = cmp.Compare(class(x.Type), class(y.Type))
		}
		if by.falling {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return cmp.Or(cmp.Compare(a.random, b.random), cmp.Compare(a.id, b.id))
}

// finding keeps the first rows of an order.
type finding struct {
	order order
	most  int     // rows to keep, at least 1
	rows  []found // a heap with the last row of the order at its root
}

// add adds a row, which it copies if it keeps it.
func (f *finding) add(row *found) {
	if len(f.rows) < f.most {
		f.rows = append(f.rows, found{})
		f.rows[len(f.rows)-1].set(row)
		f.up(len(f.rows) - 1)
	} else if f.order.compare(row, &f.rows[0]) < 0 {
		f.rows[0].set(row)
		f.down(0)
	}
}

// set copies a row into the memory of another.
func (r *found) set(from *found) {
	r.id, r.random = from.id, from.random
	if r.keys == nil && len(from.keys) > 0 {
		r.keys = make([]storage.SakeValue, len(from.keys))
	}
	for i := range from.keys {
		key, v := &r.keys[i], &from.keys[i]
		key.Type, key.Num, key.Text = v.Type, v.Num, append(key.Text[:0], v.Text...)
	}
}

// up moves the row at i to its position among those above.
func (f *finding) up(i int) {
	for i > 0 {
		above := (i - 1) / 2
		if f.order.compare(&f.rows[i], &f.rows[above]) < 0 {
			return
		}
		f.rows[i], f.rows[above] = f.rows[above], f.rows[i]
		i = above
	}
}

// down moves the row at i to its position among those below.
func (f *finding) down(i int) {
	for {
		below := 2*i + 1
		if below >= len(f.rows) {
			return
		}
		if right := below + 1; right < len(f.rows) && f.order.compare(&f.rows[below], &f.rows[right]) < 0 {
			below = right
		}
		if f.order.compare(&f.rows[i], &f.rows[below]) > 0 {
			return
		}
		f.rows[i], f.rows[below] = f.rows[below], f.rows[i]
		i = below
	}
}

// ids sorts the rows and returns their ids. No row may be added after it.
func (f *finding) ids() []uint32 {
	slices.SortFunc(f.rows, func(a, b found) int { return f.order.compare(&a, &b) })
	ids := make([]uint32, len(f.rows))
	for i := range f.rows {
		ids[i] = f.rows[i].id
	}
	return ids
}
