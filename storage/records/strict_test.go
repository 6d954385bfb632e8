package records

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

// strict is an engine that allows no more than its contract says. It runs each step twice,
// overwrites the memory that it gave to a step when that ends, and reports wrong keys and
// changes of a table in a loop over it.
type strict struct {
	memory.Engine

	t testing.TB
}

// errAgain ends the first run of a step.
var errAgain = errors.New("the step runs again")

// View implements [engine.Engine].
func (e *strict) View(ctx context.Context, read func(engine.Reader) error) error {
	return e.Engine.View(ctx, func(tx engine.Reader) error {
		for range 2 {
			x := &strictTx{t: e.t, Reader: tx}
			err := read(x)
			x.end()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Update implements [engine.Engine].
func (e *strict) Update(ctx context.Context, change func(engine.Tx) error) error {
	for _, last := range []bool{false, true} {
		err := e.Engine.Update(ctx, func(tx engine.Tx) error {
			x := &strictTx{t: e.t, Reader: tx, tx: tx, trial: !last}
			err := change(x)
			x.end()
			if err == nil && !last {
				err = errAgain
			}
			return err
		})
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return nil
}

// strictTx is a step in a strict engine.
type strictTx struct {
	engine.Reader

	t       testing.TB
	tx      engine.Tx
	trial   bool                 // the run does not count, so it must not use numbers up
	numbers uint64               // that the trial got
	given   [][]byte             // memory that the step has until it ends
	loops   map[engine.Table]int // loops that run
}

// give returns a copy that the step has until it ends.
func (x *strictTx) give(b []byte) []byte {
	if b == nil {
		return nil
	}
	last := len(x.given) - 1
	if last < 0 || cap(x.given[last])-len(x.given[last]) < len(b) {
		x.given = append(x.given, make([]byte, 0, max(4<<10, len(b))))
		last++
	}
	at := len(x.given[last])
	x.given[last] = append(x.given[last], b...)
	return x.given[last][at:len(x.given[last]):len(x.given[last])]
}

// end overwrites what the step was given.
func (x *strictTx) end() {
	for _, b := range x.given {
		for i := range b {
			b[i] = 0xA5
		}
	}
}

// check reports a key that no table can have.
func (x *strictTx) check(key []byte) {
	if len(key) == 0 || len(key) > engine.MaxKey {
		x.t.Errorf("a key of %d bytes", len(key))
	}
}

// Get implements [engine.Reader].
func (x *strictTx) Get(t engine.Table, key []byte) ([]byte, error) {
	x.check(key)
	v, err := x.Reader.Get(t, key)
	return x.give(v), err
}

// Load implements [engine.Reader].
func (x *strictTx) Load(keys ...engine.Key) error {
	for _, k := range keys {
		if k.Key != nil {
			x.check(k.Key)
		}
	}
	return nil
}

// Scan implements [engine.Reader].
func (x *strictTx) Scan(r engine.Range) iter.Seq2[engine.Entry, error] {
	return func(yield func(engine.Entry, error) bool) {
		if x.loops == nil {
			x.loops = make(map[engine.Table]int)
		}
		x.loops[r.Table]++
		defer func() { x.loops[r.Table]-- }()
		for e, err := range x.Reader.Scan(r) {
			if !yield(engine.Entry{Key: x.give(e.Key), Value: x.give(e.Value)}, err) {
				return
			}
		}
	}
}

// changes checks a change of a table.
func (x *strictTx) changes(t engine.Table, key []byte) {
	x.check(key)
	if x.loops[t] > 0 {
		x.t.Errorf("%s is changed in a loop over it", t)
	}
}

// Put implements [engine.Tx].
func (x *strictTx) Put(t engine.Table, key, value []byte) error {
	x.changes(t, key)
	return x.tx.Put(t, key, value)
}

// Delete implements [engine.Tx].
func (x *strictTx) Delete(t engine.Table, key []byte) error {
	x.changes(t, key)
	return x.tx.Delete(t, key)
}

// Vacant implements [engine.Tx].
func (x *strictTx) Vacant(t engine.Table, key []byte) error { return x.tx.Vacant(t, key) }

// Next implements [engine.Tx].
func (x *strictTx) Next(t engine.Table) (uint64, error) {
	if !x.trial {
		return x.tx.Next(t)
	}
	last, err := x.Last(t)
	x.numbers++
	return last + x.numbers, err
}

// Raise implements [engine.Tx].
func (x *strictTx) Raise(t engine.Table, n uint64) error {
	if x.trial {
		return nil
	}
	return x.tx.Raise(t, n)
}
