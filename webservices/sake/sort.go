package sake

import (
	"bytes"
	"cmp"
	"errors"
	"hash/maphash"
	"slices"

	"github.com/respawnd/respawnd/storage"
)

// maxSort is the number of columns of a sort.
const maxSort = 16

// maxSortText is how many bytes of a text are compared.
const maxSortText = 64

// errSort reports a sort that cannot be used.
var errSort = errors.New("not a sort")

// order is a compiled sort. The zero value is the order of ids.
type order struct {
	by     []sortColumn
	random bool
}

type sortColumn struct {
	slot    int
	falling bool
}

// parseSort compiles a sort: columns, each with "asc" or "desc", or "random".
func parseSort(text string, c *columns) (o order, err error) {
	if len(text) > maxFilter {
		return o, errSort
	}
	l := lexer{text}
	t := l.next()
	if t.kind == endToken {
		return o, nil
	}
	for {
		if t.kind != wordToken && t.kind != quotedToken || len(o.by) == maxSort {
			return o, errSort
		}
		name := t
		t = l.next()
		if slot, ok := c.slot(name.text); ok {
			o.by = append(o.by, sortColumn{slot: slot})
		} else if isRandom(name) && !o.random {
			o.random = true
			if t = skipCall(&l, t); t.kind == badToken {
				return o, errSort
			}
		} else {
			return o, errSort
		}
		if desc := t.is("desc"); desc || t.is("asc") {
			if len(o.by) > 0 && !o.random {
				o.by[len(o.by)-1].falling = desc
			}
			t = l.next()
		}
		switch {
		case t.kind == endToken:
			return o, nil
		case t.kind != signToken || t.text != ",":
			return o, errSort
		}
		t = l.next()
	}
}

// isRandom reports whether a word asks for a random order, as the SQL of some
// databases does.
func isRandom(t token) bool {
	return slices.ContainsFunc([]string{"random", "rand", "newid", "@random", "@rand"}, t.is)
}

// skipCall skips the parentheses behind the name of a function, and returns the token
// behind them.
func skipCall(l *lexer, t token) token {
	if t.kind != signToken || t.text != "(" {
		return t
	}
	if t = l.next(); t.kind != signToken || t.text != ")" {
		return token{kind: badToken}
	}
	return l.next()
}

// found is a row that a search found.
type found struct {
	id     uint32
	target bool   // it matches the target filter
	random uint64 // in a random order: its position
	keys   []storage.SakeValue
}

// compare orders what was found.
func (o *order) compare(a, b found) int {
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
	most  int // rows to keep
	rows  []found
	full  bool // rows[most-1] is the last one to keep, until the next prune
	probe []storage.SakeValue
	seed  maphash.Seed // of a random order
}

// slack is how many more rows are kept between two prunes.
const slack = 1024

// add adds the row that slots has read.
func (f *finding) add(id uint32, s *slots, target bool) {
	row := found{id: id, target: target, keys: f.probe[:0]}
	if f.order.random {
		row.random = maphash.Comparable(f.seed, id)
	}
	for _, by := range f.order.by {
		v := s.values[by.slot]
		v.Text = v.Text[:min(len(v.Text), maxSortText)]
		row.keys = append(row.keys, v)
	}
	f.probe = row.keys
	if f.full && f.order.compare(row, f.rows[f.most-1]) > 0 {
		return
	}
	row.keys = slices.Clone(row.keys)
	for i := range row.keys {
		row.keys[i].Text = bytes.Clone(row.keys[i].Text)
	}
	f.rows = append(f.rows, row)
	if len(f.rows) >= f.most+max(f.most, slack) {
		f.prune()
	}
}

// prune sorts the rows and drops those that are too many.
func (f *finding) prune() {
	slices.SortFunc(f.rows, f.order.compare)
	if len(f.rows) >= f.most {
		clear(f.rows[f.most:])
		f.rows = f.rows[:f.most]
		f.full = f.most > 0
	}
}
