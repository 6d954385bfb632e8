// Package records keeps the records of package storage in the tables of an engine: their
// encoding, indexes, limits, revisions and audit entries, once for all engines.
//
// A kind of record without rules of its own is declared as a value, see kind. The others
// have one file each.
//
// # Tables
//
// The tables, their keys and values are declared in tables.go. Numbers of a table that is not
// one of ids are revisions, and the ids of messages, reports, matches, audit entries and lists
// of servers.
//
// Numbers in keys and values are big-endian, so that byte order is number order. Every
// value has checksums, also those that are empty here: records over their key and their
// payload (value.go), the others over both together (layout.go). They are checked whenever
// a value is read. A record that is damaged can be deleted but not changed.
//
// # Steps
//
// In a database each read that was not loaded costs a round trip, and two steps of which
// one reads what the other changes do not run at the same time. So a step loads together
// what it needs, and no row is changed by every step of a kind: sums of all are kept in
// parts (counts.go). A step keeps its first error, so that its code need not ask for it
// after each read (view.go).
package records

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// Options say how a store is used. The zero value is right for an engine that nothing else
// uses.
type Options struct {
	// Shared says that other daemons change the tables too.
	Shared bool
	// Node is the name of this daemon among them: each saves a server list of its own.
	Node string
	// Log gets what is wrong but makes no call fail.
	Log zerolog.Logger
}

// Store keeps records in an engine. It implements [storage.Store].
type Store struct {
	eng       engine.Engine
	opt       Options
	relations relations
	maxAudit  atomic.Int64 // entries
	list      savedList
	saving    chan struct{} // held while the saved server list changes
	parts     atomic.Uint32 // of counts, that steps changed, see change.part
	changed   func(table string, err error)
}

// New returns a store in an engine, which it owns: Close closes it.
func New(eng engine.Engine, opt Options) *Store {
	s := &Store{eng: eng, opt: opt, saving: make(chan struct{}, 1)}
	s.maxAudit.Store(storage.DefaultAuditEntries)
	s.parts.Store(rand.Uint32()) // daemons that start together change different ones
	return s
}

// OnChange sets the function that is called after each step that changes a table which daemons hold in
// memory, such as storage.TableBans, with the step's error. It is called before the store is used.
func (s *Store) OnChange(observe func(table string, err error)) { s.changed = observe }

// Close is described in [storage.Store].
func (s *Store) Close() error {
	s.relations.close()
	return s.eng.Close()
}

// view runs a step that reads.
func (s *Store) view(ctx context.Context, read func(*view) error) error {
	return s.eng.View(ctx, func(tx engine.Reader) error {
		v := view{Reader: tx}
		err := read(&v)
		return orElse(v.err, err)
	})
}

// read returns the result of a step that reads, the zero one after an error.
func read[T any](ctx context.Context, s *Store, fn func(*view) (T, error)) (result T, err error) {
	err = s.view(ctx, func(v *view) (err error) {
		result, err = fn(v)
		return err
	})
	if err != nil {
		result = *new(T)
	}
	return result, err
}

// look is read of what is there or not.
func look[T any](ctx context.Context, s *Store, fn func(*view) T) (T, error) {
	return read(ctx, s, func(v *view) (T, error) { return fn(v), nil })
}

// perform is change with a result, which is zero after an error.
func perform[T any](ctx context.Context, s *Store, fn func(*change) (T, error)) (result T, err error) {
	err = s.change(ctx, func(c *change) (err error) {
		result, err = fn(c)
		return err
	})
	if err != nil {
		result = *new(T)
	}
	return result, err
}

// A change is a step that changes records. The errors of its changes are kept as those of its
// reads are.
type change struct {
	*view
	tx      engine.Tx
	shared  bool // a read that was not loaded costs a round trip
	number  bool // that of the audit entry is to be loaded
	part    byte // of the counts that it changes
	wrote   bool
	touched []pair   // pairs whose relation changed
	held    []string // changed tables that daemons hold in memory, see heldAs
}

// load is that of view. The first one loads the number of the audit entry too.
func (c *change) load(keys ...engine.Key) {
	if c.number {
		keys, c.number = append(keys, engine.Key{Table: tableAudit}), false
	}
	c.view.load(keys...)
}

// change runs fn as a step, with the audit entry of ctx if it changed something. fn may run
// more than once; it must reset its results.
func (s *Store) change(ctx context.Context, fn func(*change) error) error {
	var touched []pair
	var held []string
	var part byte
	if s.opt.Shared {
		part = byte(s.parts.Add(1) % countParts)
	}
	_, audited := storage.AuditOf(ctx)
	err := s.eng.Update(ctx, func(tx engine.Tx) error {
		c := &change{view: &view{Reader: tx}, tx: tx, shared: s.opt.Shared, number: s.opt.Shared && audited, part: part}
		err := fn(c)
		touched, held = c.touched, c.held
		if err == nil && s.opt.Shared {
			c.raiseRevisions()
		}
		if err == nil && c.wrote {
			s.note(ctx, c)
		}
		return orElse(c.err, err)
	})
	s.relations.forget(touched)
	if s.changed != nil {
		for _, table := range held {
			s.changed(table, err)
		}
	}
	return err
}

// touch records that the relation of two profiles changes.
func (c *change) touch(one, other storage.ProfileID) {
	p, _ := newPair(one, other)
	c.touched = append(c.touched, p)
}

// put stores a record under a key.
func (c *change) put(t engine.Table, key []byte, record any) {
	value, err := encode(key, record)
	c.failed(err)
	c.putValue(t, key, value)
}

// putValue stores a value that is sealed.
func (c *change) putValue(t engine.Table, key, value []byte) {
	if c.err == nil {
		c.changes(t)
		c.failed(c.tx.Put(t, key, value))
	}
}

// putRaw stores a payload that is not JSON, in two parts, under a key.
func (c *change) putRaw(t engine.Table, key, head, data []byte) {
	c.putValue(t, key, sealRecord(key, head, data))
}

// putEntry stores an entry of an index, a pair or a number.
func (c *change) putEntry(t engine.Table, key, content []byte) {
	c.putValue(t, key, engine.Seal(key, content))
}

// delete removes a key, which may be missing.
func (c *change) delete(t engine.Table, key []byte) {
	if c.err == nil {
		c.changes(t)
		c.failed(c.tx.Delete(t, key))
	}
}

// deleteAll removes keys of a table.
func (c *change) deleteAll(t engine.Table, keys [][]byte) {
	for _, key := range keys {
		c.delete(t, key)
	}
}

// remove deletes a key and reports whether it was there.
func (c *change) remove(t engine.Table, key []byte) bool {
	found := c.has(t, key)
	if found {
		c.delete(t, key)
	}
	return found
}

// removeAll deletes keys and returns how many were there.
func (c *change) removeAll(t engine.Table, keys [][]byte) (n int) {
	c.load(keysIn(t, keys)...)
	for _, key := range keys {
		if c.remove(t, key) {
			n++
		}
	}
	return n
}

// next returns the next number of a table, raise makes later ones higher than n.
func (c *change) next(t engine.Table) uint64 {
	if c.err != nil {
		return 0
	}
	n, err := c.tx.Next(t)
	c.failed(err)
	return n
}

// vacant is Vacant of [engine.Tx].
func (c *change) vacant(t engine.Table, key []byte) {
	if c.err == nil {
		c.failed(c.tx.Vacant(t, key))
	}
}

func (c *change) raise(t engine.Table, n uint64) {
	if c.err == nil {
		c.failed(c.tx.Raise(t, n))
	}
}
