package records

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

// trips is an engine that counts what would be round trips to a database: reads that were not
// loaded, numbers of strict tables, and the end of a step that changes something.
type trips struct {
	memory.Engine

	n atomic.Int64
}

// View implements [engine.Engine].
func (e *trips) View(ctx context.Context, read func(engine.Reader) error) error {
	return e.Engine.View(ctx, func(tx engine.Reader) error { return read(&tripsTx{Reader: tx, e: e}) })
}

// Update implements [engine.Engine].
func (e *trips) Update(ctx context.Context, change func(engine.Tx) error) error {
	return e.Engine.Update(ctx, func(tx engine.Tx) error {
		x := &tripsTx{Reader: tx, tx: tx, e: e}
		err := change(x)
		if err == nil && x.wrote {
			e.n.Add(1)
		}
		return err
	})
}

// tripsTx is a step whose trips are counted.
type tripsTx struct {
	engine.Reader

	tx      engine.Tx
	e       *trips
	known   map[string]bool // keys that were read or written
	ranges  []engine.Range  // that were loaded
	numbers map[engine.Table]int
	wrote   bool
}

// learn makes a key known and reports whether it was not.
func (x *tripsTx) learn(t engine.Table, key []byte) bool {
	if x.known == nil {
		x.known = make(map[string]bool)
	}
	name := string(t) + "\x00" + string(key)
	unknown := !x.known[name]
	x.known[name] = true
	return unknown
}

// trip counts a trip if it is one.
func (x *tripsTx) trip(is bool) {
	if is {
		x.e.n.Add(1)
	}
}

// Get implements [engine.Reader].
func (x *tripsTx) Get(t engine.Table, key []byte) ([]byte, error) {
	x.trip(x.learn(t, key))
	return x.Reader.Get(t, key)
}

// Load implements [engine.Reader].
func (x *tripsTx) Load(keys ...engine.Key) error {
	unknown := false
	for _, k := range keys {
		if k.Key == nil {
			if slices.Contains(Strict(), k.Table) {
				x.load(k.Table)
				unknown = true
			}
			continue
		}
		if !x.learn(k.Table, k.Key) {
			continue
		}
		unknown = true
		v, err := x.Reader.Get(k.Table, k.Key)
		if err != nil {
			return err
		}
		for i, t := range k.Then {
			if t != "" && len(v) >= 4*i+4 {
				x.learn(t, v[4*i:4*i+4])
			}
		}
	}
	x.trip(unknown)
	return nil
}

// load adds a number to those that were loaded.
func (x *tripsTx) load(t engine.Table) {
	if x.numbers == nil {
		x.numbers = make(map[engine.Table]int)
	}
	x.numbers[t]++
}

// LoadRanges implements [engine.Reader].
func (x *tripsTx) LoadRanges(ranges ...engine.Range) error {
	x.ranges = append(x.ranges, ranges...)
	x.trip(len(ranges) > 0)
	return nil
}

// Scan implements [engine.Reader].
func (x *tripsTx) Scan(r engine.Range) iter.Seq2[engine.Entry, error] {
	x.trip(!slices.ContainsFunc(x.ranges, func(o engine.Range) bool {
		return o.Table == r.Table && bytes.Equal(o.From, r.From) && bytes.Equal(o.To, r.To) && o.Backward == r.Backward && o.Limit == r.Limit && o.Loose == r.Loose
	}))
	return x.Reader.Scan(r)
}

// Last implements [engine.Reader].
func (x *tripsTx) Last(t engine.Table) (uint64, error) {
	x.trip(true)
	return x.Reader.Last(t)
}

// Put implements [engine.Tx].
func (x *tripsTx) Put(t engine.Table, key, value []byte) error {
	x.learn(t, key)
	x.wrote = true
	return x.tx.Put(t, key, value)
}

// Delete implements [engine.Tx].
func (x *tripsTx) Delete(t engine.Table, key []byte) error {
	x.learn(t, key)
	x.wrote = true
	return x.tx.Delete(t, key)
}

// Vacant implements [engine.Tx].
func (x *tripsTx) Vacant(t engine.Table, key []byte) error {
	x.learn(t, key)
	return x.tx.Vacant(t, key)
}

// Next implements [engine.Tx].
func (x *tripsTx) Next(t engine.Table) (uint64, error) {
	if x.numbers[t] > 0 {
		x.numbers[t]--
	} else {
		x.trip(slices.Contains(Strict(), t))
	}
	return x.tx.Next(t)
}

// Raise implements [engine.Tx].
func (x *tripsTx) Raise(t engine.Table, n uint64) error {
	x.trip(true)
	return x.tx.Raise(t, n)
}
