package serverbrowse

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/respawnd/respawnd/internal/ascii"
	"github.com/respawnd/respawnd/master/filter"
)

// Clients that have a filter of their own get rows of a whole list: the one of all
// servers of the game, which also has the values that filters read. It is kept as
// the other lists are, under the key of a request without a filter, and is made when
// a second filter comes before the game has changed: most filters of seldom played
// games would pay for it without a benefit.

// maxFilterColumns is how many fields for filters a whole list has.
const maxFilterColumns = 16

// filterColumn has the values of one field, of all servers of a list in its order.
// Its texts are copies, so that a list keeps no record alive.
type filterColumn struct {
	name  string
	codes []uint32 // of each server: index in texts
	texts []string // different values
	size  int      // bytes of texts
}

// whole describes a whole list: the list of all servers of a game.
type whole struct {
	columns []filterColumn
	types   []KeyType // of the key list
	keys    int       // size of the key list in bytes
	popular []string  // copies of the popular values
}

// Size returns the memory of the columns in bytes.
func (w *whole) Size() (n int) {
	if w == nil {
		return 0
	}
	for i := range w.columns {
		c := &w.columns[i]
		n += 4*cap(c.codes) + 16*cap(c.texts) + c.size
	}
	return n
}

// column returns the column of a field; nil if there is none.
func (w *whole) column(name string) *filterColumn {
	if w == nil {
		return nil
	}
	for i := range w.columns {
		if w.columns[i].name == name {
			return &w.columns[i]
		}
	}
	return nil
}

func (w *whole) has(fields []string) bool {
	return w != nil && !slices.ContainsFunc(fields, func(name string) bool { return w.column(name) == nil })
}

// with returns fields and those that w has beside them, at most maxFilterColumns.
func (w *whole) with(fields []string) []string {
	all := slices.Clone(fields)
	if w == nil {
		return all
	}
	for i := range w.columns {
		if name := w.columns[i].name; len(all) < maxFilterColumns && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// addWhole makes the view that was just built without a filter a whole list, with
// columns for some fields.
func (b *builder) addWhole(v *view, fields []string) {
	w := &whole{keys: len(appendKeys(nil, b.keys))}
	for _, k := range b.keys {
		w.types = append(w.types, k.Type)
	}
	for _, text := range b.table.popular {
		w.popular = append(w.popular, strings.Clone(text))
	}
	b.asked.reset(fields)
	for i, name := range fields {
		w.columns = append(w.columns, b.filterColumn(i, name))
	}
	v.whole = w
	v.took = time.Since(v.built)
}

// filterColumn makes the column of field i of b.asked.
func (b *builder) filterColumn(i int, name string) filterColumn {
	c := filterColumn{name: name, codes: make([]uint32, len(b.listed))}
	if sent := b.sent(name); sent >= 0 {
		c.fromCells(b, sent)
	} else {
		b.texts.reset()
		for r, s := range b.listed {
			c.codes[r], _ = b.texts.add(columnValue(s, b.asked.of(s.Rules.Names())[i]))
		}
		c.texts = slices.Clone(b.texts.texts)
	}
	for n, text := range c.texts {
		c.texts[n] = strings.Clone(text)
		c.size += len(text)
	}
	return c
}

// sent returns the index of the column of the list that has all values of a field,
// as they are; -1 if there is none.
func (b *builder) sent(name string) int {
	i := slices.IndexFunc(b.wanted.names, func(n string) bool { return ascii.EqualFold(n, name) })
	if i < 0 || len(b.rows) < len(b.listed) || b.columns[i].unique || b.columns[i].number && b.columns[i].stated != KeyString {
		return -1
	}
	return i
}

// fromCells fills the column from column i of the list, without a look at the records,
// which the caches of the processor no longer hold.
func (c *filterColumn) fromCells(b *builder, i int) {
	column := &b.columns[i]
	numbered := make([]uint32, len(b.table.texts)) // by cell: code plus one
	if column.number {
		numbered = make([]uint32, column.max+1)
	}
	for r := range c.codes {
		cell := b.cells[r*len(b.columns)+i]
		n := &numbered[cell]
		if *n == 0 {
			text := ""
			if column.number {
				text = strconv.FormatUint(uint64(cell), 10)
			} else {
				text = b.table.texts[cell]
			}
			c.texts = append(c.texts, text)
			*n = uint32(len(c.texts))
		}
		c.codes[r] = *n - 1
	}
}

// whole returns the whole list from which the rows of a list are picked; nil if the
// list is better built from the records.
func (s *Server) whole(a *asked) (*view, error) {
	fields := a.filter.Names()
	if a.filter.Trivial() || len(fields) > maxFilterColumns {
		return nil, nil
	}
	key := a.key
	key.filter = ""
	if !s.repeats.again(key, a.key.filter, key.asker.In(s.opt.Registry).Serial(key.game)) {
		return nil, nil
	}
	all := &asked{key, a.names, new(filter.Filter)}
	var before *whole
	return s.views.Get(key, func(v *view) bool {
		before = v.whole
		// The time that building took does not count, or those that waited for it would
		// all build it again.
		return v.whole.has(fields) && (s.usable(all, v) || time.Since(v.built) < v.took+v.hold())
	}, func() (*view, error) {
		s.metrics.wholes.Inc()
		return s.buildView(all, func(b *builder, v *view) { b.addWhole(v, before.with(fields)) })
	})
}

// repeats remembers for which lists a filter came a while ago.
type repeats struct {
	seed maphash.Seed

	mu    sync.Mutex // guards slots
	slots [repeatSlots]repeat
}

// repeatSlots is how many lists are remembered.
const repeatSlots = 64

// repeatFor is how long after a list was held another filter is expected to come: those
// who wait for a long list come one after the other.
const repeatFor = time.Second

// repeat is a list with a filter.
type repeat struct {
	key    viewKey // without the filter
	filter string
	serial uint64
	until  time.Time // it was held
}

func (r *repeats) slot(key viewKey) *repeat {
	return &r.slots[maphash.Comparable(r.seed, key)%repeatSlots]
}

// again reports whether it is worth to have a whole list: one with another filter was
// built, and the game did not change or it was a moment ago.
func (r *repeats) again(key viewKey, filter string, serial uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.slot(key)
	return at.key == key && at.filter != filter && (at.serial == serial || time.Now().Before(at.until.Add(repeatFor)))
}

// note remembers a list with a filter. Short lists are built for each filter.
func (r *repeats) note(key viewKey, v *view) {
	if key.filter == "" || v.servers <= shortList {
		return
	}
	filter := key.filter
	key.filter = ""
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.slot(key) = repeat{key, filter, v.serial, v.built.Add(v.hold())}
}
