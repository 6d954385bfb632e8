// Package engine is the contract of what a store is built on: tables of keys and values in
// the order of their keys, changed in atomic steps.
//
// An engine knows no record, no index and no rule about them; package records has those,
// once for all engines. storage/bolt keeps the tables in one file, storage/postgres in a
// PostgreSQL database, storage/engine/memory in memory, for tests.
//
// # Steps
//
// A function that is given to View reads the tables as they are at one moment. One that is
// given to Update changes them as if it were alone: its changes are there together or not
// at all, and on disk when Update returns nil. If the function returns an error, nothing is
// changed, and that error is returned as it is. The function may run several times before
// one run counts, so it begins by resetting what it returns by other ways, and has no
// other effects. It uses the Reader or Tx only until it returns, and in one goroutine.
//
// The context is checked before a step begins; one that has begun is finished. Errors
// match ErrClosed, ErrDamaged or ErrUnavailable where these are the reason. After
// ErrUnavailable a change may have happened, as a whole.
package engine

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
)

// The errors of engines.
var (
	// ErrDamaged means that stored data can no longer be read.
	ErrDamaged = errors.New("damaged")
	// ErrUnavailable means that the server that keeps the data cannot be used at
	// present. Trying later may succeed.
	ErrUnavailable = errors.New("the database is not available")
	// ErrClosed means that the store is closed.
	ErrClosed = errors.New("store is closed")
)

// A Table is the name of a table. A table that is not there is empty.
type Table string

// Key is a key of a table.
type Key struct {
	Table Table
	Key   []byte // 1 byte or more, at most MaxKey
	// Then are tables of which the value leads to an entry each, for Load: its first 4 bytes
	// are the key in the first one, the next 4 bytes that in the second.
	Then [2]Table
}

// Layout is what an engine knows of the records in it, for its own checks.
type Layout struct {
	Version uint64  // number of the layout of the records; data of a higher one is refused
	Tables  []Table // all that the layout has
	// Check returns an error for an entry that is not what was stored. lost says that a
	// reader would not notice: the key is another, or the entry is one of an index.
	Check func(t Table, key, value []byte) (lost bool, err error)
	// First reports whether a daemon reads a table as a whole when it starts.
	First func(t Table) bool
}

// Page is how many entries of a range an engine behind a network fetches in one round trip.
// Code above reads long ranges in steps of so many.
const Page = 256

// Limits that every engine keeps. Code above keeps records well below them.
const (
	MaxKey   = 2 << 10  // MaxKey is the size in bytes of the longest key.
	MaxValue = 64 << 20 // MaxValue is the size in bytes of the largest value.
)

// Entry is a key with its value. Both belong to the engine: they are valid until the step
// ends, and must not be changed.
type Entry struct{ Key, Value []byte }

// Range is the keys of a table from From on and below To.
type Range struct {
	Table    Table
	From     []byte // nil: the first key
	To       []byte // nil: to the last key
	Backward bool   // from the highest key down
	Limit    int    // most entries; 0: all
	// Loose says that the step does not rely on what it finds: others may change the
	// range meanwhile. It is for sums of many parts that each step changes one of.
	Loose bool
}

// Prefix returns the range of the keys that begin with prefix.
func Prefix(t Table, prefix []byte) Range { return Range{Table: t, From: prefix, To: After(prefix)} }

// After returns the lowest key above all that begin with prefix, nil if there is none.
func After(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xFF {
			next := slices.Clone(prefix[:i+1])
			next[i]++
			return next
		}
	}
	return nil
}

// Contains reports whether a key is in the range, whatever its Limit.
func (r *Range) Contains(key []byte) bool {
	return bytes.Compare(key, r.From) >= 0 && (r.To == nil || bytes.Compare(key, r.To) < 0)
}

// Reader reads tables.
type Reader interface {
	// Get returns the value of a key, nil if there is none. It belongs to the engine, as
	// those of an Entry do.
	Get(t Table, key []byte) ([]byte, error)

	// Load fetches the values of keys, so that Get need not ask for each: in an engine
	// behind a network all of them take one round trip, with the entries to which their
	// values lead, see Key. A key without bytes stands for the next number of its table:
	// the next call of Next needs no round trip.
	Load(keys ...Key) error

	// LoadRanges is Load for Scan, which must be given one of the ranges as it is here.
	LoadRanges(ranges ...Range) error

	// Scan yields the entries of a range in the order of their keys. A loop over it must
	// not change the table. An error is the last item.
	Scan(r Range) iter.Seq2[Entry, error]

	// Last returns the highest number that Next returned for a table, or Raise was
	// given, 0 if there is none. Numbers of steps that did not happen may count, and
	// some that Next has yet to return in an engine that several daemons share.
	Last(t Table) (uint64, error)
}

// Tx reads and changes tables. Its reads see its own changes.
type Tx interface {
	Reader

	// Put stores a value under a key, in place of the one that is there. The value must not
	// be changed until the step has ended, the key may.
	Put(t Table, key, value []byte) error

	// Delete removes a key, which may be missing.
	Delete(t Table, key []byte) error

	// Vacant says that the step expects no value under a key, as under one of a new number:
	// an engine behind a network need not ask for it then, and runs the step again if there
	// is one.
	Vacant(t Table, key []byte) error

	// Next returns the next number of a table: above 0, never returned before, and above
	// each number that a step got that ended before this one began. Between two numbers
	// some may be missing. In an engine that several daemons share, numbers of different
	// daemons are in that order only for tables that it was given as strict; each such
	// number takes a round trip unless it was loaded.
	Next(t Table) (uint64, error)

	// Raise makes later numbers of a table higher than n, whatever becomes of the step.
	// In an engine that several daemons share it affects those of other daemons at once
	// only for strict tables.
	Raise(t Table, n uint64) error
}

// Engine keeps tables.
type Engine interface {
	// View runs a function that reads.
	View(ctx context.Context, read func(Reader) error) error

	// Update runs a function that reads and changes. If it changes nothing, nothing is
	// written.
	Update(ctx context.Context, change func(Tx) error) error

	// Close ends the use of the engine. Steps that have begun are finished; later ones
	// return ErrClosed. Closing twice is not an error.
	Close() error
}
