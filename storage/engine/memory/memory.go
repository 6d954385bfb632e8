// Package memory is an engine in memory, for tests of what is built on engines. Nothing of
// it lasts.
package memory

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/storage/engine"
)

// Engine keeps tables in memory. The zero value is empty and ready.
type Engine struct {
	mu     sync.RWMutex // guards the fields below; Update holds it
	tables map[engine.Table]*table
	closed bool
}

var _ engine.Engine = (*Engine)(nil)

// table is a table with its sequence.
type table struct {
	keys keys
	last uint64
}

// View implements [engine.Engine].
func (m *Engine) View(ctx context.Context, read func(engine.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return engine.ErrClosed
	}
	return read(&tx{tables: m.tables})
}

// Update implements [engine.Engine].
func (m *Engine) Update(ctx context.Context, change func(engine.Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return engine.ErrClosed
	}
	if m.tables == nil {
		m.tables = make(map[engine.Table]*table)
	}
	t := &tx{tables: m.tables}
	if err = change(t); err != nil {
		for _, undo := range slices.Backward(t.undo) {
			undo()
		}
	}
	return err
}

// Close implements [engine.Engine].
func (m *Engine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tables, m.closed = nil, true
	return nil
}

// tx is a step.
type tx struct {
	tables map[engine.Table]*table
	undo   []func() // the changes backwards
}

// Get implements [engine.Reader].
func (x *tx) Get(name engine.Table, key []byte) ([]byte, error) {
	if t := x.tables[name]; t != nil {
		return t.keys.get(key), nil
	}
	return nil, nil
}

// Load implements [engine.Reader]: there is nothing to fetch.
func (x *tx) Load(...engine.Key) error { return nil }

// LoadRanges implements [engine.Reader].
func (x *tx) LoadRanges(...engine.Range) error { return nil }

// Scan implements [engine.Reader].
func (x *tx) Scan(r engine.Range) iter.Seq2[engine.Entry, error] {
	return func(yield func(engine.Entry, error) bool) {
		t, n := x.tables[r.Table], 0
		if t == nil {
			return
		}
		for e := range t.keys.scan(r.From, r.To, r.Backward) {
			if !yield(engine.Entry{Key: e.Key, Value: e.Value}, nil) {
				return
			}
			if n++; n == r.Limit {
				return
			}
		}
	}
}

// Last implements [engine.Reader].
func (x *tx) Last(name engine.Table) (uint64, error) {
	if t := x.tables[name]; t != nil {
		return t.last, nil
	}
	return 0, nil
}

// table returns a table that may be changed.
func (x *tx) table(name engine.Table) *table {
	t := x.tables[name]
	if t == nil {
		t = &table{}
		x.tables[name] = t
	}
	return t
}

// Put implements [engine.Tx].
func (x *tx) Put(name engine.Table, key, value []byte) error {
	t, key := x.table(name), slices.Clone(key)
	if old := t.keys.put(key, append(make([]byte, 0, len(value)), value...)); old != nil {
		x.undo = append(x.undo, func() { t.keys.put(key, old) })
	} else {
		x.undo = append(x.undo, func() { t.keys.remove(key) })
	}
	return nil
}

// Delete implements [engine.Tx].
func (x *tx) Delete(name engine.Table, key []byte) error {
	t, key := x.table(name), slices.Clone(key)
	if old := t.keys.remove(key); old != nil {
		x.undo = append(x.undo, func() { t.keys.put(key, old) })
	}
	return nil
}

// Vacant implements [engine.Tx]: Get costs nothing.
func (x *tx) Vacant(engine.Table, []byte) error { return nil }

// Next implements [engine.Tx].
func (x *tx) Next(name engine.Table) (uint64, error) {
	t := x.table(name)
	t.last++
	return t.last, nil
}

// Raise implements [engine.Tx].
func (x *tx) Raise(name engine.Table, n uint64) error {
	t := x.table(name)
	t.last = max(t.last, n)
	return nil
}
