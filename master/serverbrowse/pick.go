package serverbrowse

import (
	"bytes"
	"time"

	"github.com/respawnd/respawnd/master/filter"
)

// maxMemo is how many combinations of values a filter is asked once for each. With
// more it is asked for each server.
const maxMemo = 1 << 16

// Results of a filter for a combination of values.
const (
	unasked = iota
	passes
	fails
)

// picker picks rows of whole lists. It reuses its memory and is used by one goroutine
// at a time.
type picker struct {
	columns []*filterColumn // that the filter reads
	at      int             // row
	memo    []uint8
	rows    []uint32 // those that pass
	index   [literal]uint8
}

// Field implements filter.Row.
func (p *picker) Field(i int) (string, bool) {
	c := p.columns[i]
	text := c.texts[c.codes[p.at]]
	return text, text != ""
}

// pick returns the list of those servers of a whole one that pass a filter, whose
// fields it has.
func (p *picker) pick(all *view, f *filter.Filter) (*view, error) {
	began := time.Now()
	p.columns = p.columns[:0]
	for _, name := range f.Names() {
		p.columns = append(p.columns, all.whole.column(name))
	}
	defer clear(p.columns)
	if err := p.choose(all, f); err != nil {
		return nil, err
	}
	v := &view{first: all.first, sharing: all.sharing, serial: all.serial, changes: all.changes, built: all.built, servers: all.servers}
	switch n := len(p.rows); {
	case n == all.entries():
		v.clear, v.ends, v.listed = all.clear, all.ends, all.listed
	case n < all.entries()/8*7:
		p.copyWith(v, all)
	default: // few of the popular values are unused
		v.clear = append(make([]byte, 0, len(all.clear)), all.clear[:all.first]...)
		p.copy(v, all)
	}
	v.took = time.Since(began)
	return v, nil
}

// choose finds the rows that pass a filter.
func (p *picker) choose(all *view, f *filter.Filter) error {
	p.rows = p.rows[:0]
	budget := filter.ListBudget(all.servers)
	combinations := 1
	for _, c := range p.columns {
		if combinations *= max(1, len(c.texts)); combinations > maxMemo {
			break
		}
	}
	p.memo = p.memo[:0]
	if combinations <= maxMemo {
		p.memo = append(p.memo, make([]uint8, combinations)...)
	}
	for p.at = range all.entries() {
		if p.passes(f, &budget) {
			p.rows = append(p.rows, uint32(p.at))
		}
		if budget.Exhausted() {
			return errTooExpensive
		}
	}
	return nil
}

// passes reports whether the present row passes.
func (p *picker) passes(f *filter.Filter, budget *filter.Budget) bool {
	if len(p.memo) == 0 {
		return f.Match(p, budget)
	}
	n := 0
	for _, c := range p.columns {
		n = n*len(c.texts) + int(c.codes[p.at])
	}
	switch p.memo[n] {
	case passes:
		return true
	case fails:
		return false
	}
	if f.Match(p, budget) {
		p.memo[n] = passes
		return true
	}
	p.memo[n] = fails
	return false
}

// copy appends the rows to v, neighbours in one piece, and the end of the list.
func (p *picker) copy(v, all *view) {
	v.ends = make([]uint32, 0, len(p.rows))
	for i := 0; i < len(p.rows); {
		from, moved := all.begins(p.rows[i]), uint32(len(v.clear))
		end := i
		for ; end < len(p.rows) && p.rows[end]-p.rows[i] == uint32(end-i); end++ {
			v.ends = append(v.ends, all.ends[p.rows[end]]-from+moved)
		}
		v.clear = append(v.clear, all.clear[from:all.ends[p.rows[end-1]]]...)
		i = end
	}
	v.clear = append(v.clear, listEnd...)
	if all.listed != nil {
		v.listed = make([]uint64, len(p.rows))
		for i, r := range p.rows {
			v.listed[i] = all.listed[r]
		}
	}
}

// copyWith is copy with those popular values only that the rows refer to. That makes no
// row longer: a value that is used once is as long in the table as in its row.
func (p *picker) copyWith(v, all *view) {
	size := 0
	p.index = [literal]uint8{}
	for _, r := range p.rows {
		row := all.clear[all.begins(r):all.ends[r]]
		size += len(row)
		all.whole.references(row, func(at int) { p.index[row[at]] = 1 })
	}
	var used []string
	for i, text := range all.whole.popular {
		if p.index[i] != 0 {
			p.index[i] = uint8(len(used))
			used = append(used, text)
			size += len(text) + 1
		}
	}
	v.clear = make([]byte, 0, all.whole.keys+1+size+len(listEnd))
	v.clear = appendPopular(append(v.clear, all.clear[:all.whole.keys]...), used)
	v.first = uint32(len(v.clear))
	p.copy(v, all)
	from := v.first
	for _, end := range v.ends {
		row := v.clear[from:end]
		all.whole.references(row, func(at int) { row[at] = p.index[row[at]] })
		from = end
	}
}

func (v *view) begins(entry uint32) uint32 {
	if entry == 0 {
		return v.first
	}
	return v.ends[entry-1]
}

// references calls yield with the offset of each index of a popular value in an
// entry.
func (w *whole) references(entry []byte, yield func(at int)) {
	flags := Flag(entry[0])
	if flags&FlagValues == 0 {
		return
	}
	at := headSize(flags)
	for _, t := range w.types {
		switch {
		case t == KeyByte:
			at++
		case t == KeyShort:
			at += 2
		case entry[at] == literal:
			at += 1 + bytes.IndexByte(entry[at+1:], 0) + 1
		default:
			yield(at)
			at++
		}
	}
}

// headSize returns the number of bytes that appendEntryHead appends.
func headSize(flags Flag) int {
	n := 5
	for _, part := range [...]struct {
		flag Flag
		size int
	}{{FlagPort, 2}, {FlagLocal, 4}, {FlagLocalPort, 2}, {FlagICMP, 4}} {
		if flags&part.flag != 0 {
			n += part.size
		}
	}
	return n
}
