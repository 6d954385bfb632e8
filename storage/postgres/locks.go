package postgres

import (
	"bytes"
	"maps"
	"slices"
)

// A lockSet is locks by their numbers, true: exclusive. A step takes them in the order of
// the numbers, which are hashes, so two objects may share one.
//
//   - Of a key: shared by steps that read it, exclusive for one that changes it.
//   - Of a beginning of keys, of one of the lengths in grains: shared by steps that change
//     a key with it, exclusive for one that relies on a range of such keys.
//   - Of a table, which is the beginning of length 0: shared by all steps that use it,
//     exclusive for one that changes many keys.
type lockSet map[int64]bool

// grains are the lengths of the prefixes of keys for which there are locks. Most numbers in keys
// have 4 or 8 bytes.
var grains = []int{0, 4, 8, 16, 32}

// A step that would take more locks of a table locks the table as a whole: the memory of
// the server for locks is limited, by default to 6,400 for all steps together. If that is
// not enough, the step runs again and locks nothing but tables.
const (
	maxLocks  = 256
	stepLocks = 4 * maxLocks // of all tables; above it, a table with more than fewLocks is locked
	fewLocks  = 16
)

// wholeKey is the grain of a key itself.
const wholeKey = 0xFF

// lockNumber returns the number of a lock, by FNV-1a, which all nodes compute alike.
func lockNumber(t int16, grain int, key []byte) int64 {
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	add(byte(t >> 8))
	add(byte(t))
	add(byte(grain))
	for _, b := range key {
		add(b)
	}
	return int64(h)
}

// set adds a lock.
func (l lockSet) set(number int64, exclusive bool) { l[number] = l[number] || exclusive }

// grainOf returns the lock that stands for a range: that of the longest grain with which
// all its keys begin.
func grainOf(s *span) int64 {
	common := 0
	for common < min(len(s.from), len(s.to)) && s.from[common] == s.to[common] {
		common++
	}
	// All keys from one with a prefix on, and below the end of the prefix, have it.
	if n := len(s.to); n > 0 && s.to[n-1] > 0 {
		prefix := slices.Clone(s.to)
		prefix[n-1]--
		if bytes.HasPrefix(s.from, prefix) {
			common = n
		}
	}
	at := 0
	for _, g := range grains {
		if g <= common {
			at = g
		}
	}
	return lockNumber(s.table, at, s.from[:at])
}

// locks returns the locks that a step needs to compare what it read and to write.
func (x *tx) locks() lockSet {
	tables := make(map[int16]lockSet)
	of := func(t int16) lockSet {
		if tables[t] == nil {
			tables[t] = lockSet{lockNumber(t, 0, nil): false}
		}
		return tables[t]
	}
	for p, c := range x.cells {
		if c.relied {
			of(p.table).set(lockNumber(p.table, wholeKey, []byte(p.key)), false)
		}
	}
	for i := range x.spans {
		of(x.spans[i].table).set(grainOf(&x.spans[i]), true)
	}
	for p := range x.writes {
		key, l := []byte(p.key), of(p.table)
		l.set(lockNumber(p.table, wholeKey, key), true)
		for _, g := range grains {
			if g <= len(key) {
				l.set(lockNumber(p.table, g, key[:g]), false)
			}
		}
	}
	total, most := 0, maxLocks
	for _, l := range tables {
		total += len(l)
	}
	switch {
	case x.at.coarse:
		most = 1
	case total > stepLocks:
		most = fewLocks
	}
	all := make(lockSet)
	for t, l := range tables {
		if len(l) > most {
			l = lockSet{lockNumber(t, 0, nil): true}
		}
		all.merge(l)
	}
	return all
}

// merge adds locks.
func (l lockSet) merge(more lockSet) {
	for n, exclusive := range more {
		l.set(n, exclusive)
	}
}

// without returns the locks that a set of others does not include.
func (l lockSet) without(held lockSet) lockSet {
	missing := make(lockSet)
	for n, exclusive := range l {
		if had, ok := held[n]; !ok || exclusive && !had {
			missing[n] = exclusive
		}
	}
	return missing
}

// lists returns the numbers in order, and which of them are exclusive.
func (l lockSet) lists() (numbers []int64, exclusive []bool) {
	numbers = slices.Sorted(maps.Keys(l))
	for _, n := range numbers {
		exclusive = append(exclusive, l[n])
	}
	return numbers, exclusive
}
