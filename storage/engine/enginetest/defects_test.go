package enginetest

import (
	"bytes"
	"context"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) engine.Engine { return &memory.Engine{} })
}

// A defect is what is wrong with an engine.
type defect int

const (
	none          defect = iota
	lostUpdate           // nothing that was read is validated
	phantom              // ranges are not validated
	countedRange         // of a range the number of its entries is validated
	dirtyRead            // the changes of a step that fails are there for a while
	partialStep          // the changes of a step are there one after the other
	tornView             // a view reads at several moments
	earlyDecision        // a step that fails is not validated
)

// TestHistoryFindsDefects runs histories over engines with defects, and one without.
func TestHistoryFindsDefects(t *testing.T) {
	for name, d := range map[string]defect{
		"none": none, "lost update": lostUpdate, "phantom": phantom, "counted range": countedRange, "dirty read": dirtyRead,
		"partial step": partialStep, "torn view": tornView, "early decision": earlyDecision,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var err error
			var all []porcupine.Operation
			for began, n := time.Now(), uint64(0); err == nil && (d != none && n < 1000 || time.Since(began) < historyTime); n++ {
				all = Record(t, n, &broken{defect: d})
				err = judge(all)
			}
			if (err != nil) != (d != none) {
				t.Errorf("judge() = %v", err)
			}
		})
	}
}

// TestKeep expects the seed and all operations of a history in a file.
func TestKeep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	all := Record(t, 7, &memory.Engine{})
	name, err := keep(7, all)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if lines := strings.Count(string(text), "\n"); err != nil || lines != len(all)+2 || !strings.HasPrefix(string(text), "seed 7\n") || !strings.Contains(string(text), "read:[") {
		t.Errorf("%d lines for %d operations, %v:\n%s", lines, len(all), err, text)
	}
}

// broken reads in one step of an engine in memory and writes in a second one, which checks
// that what was read is still there: as engines of servers do it, with a defect.
type broken struct {
	memory.Engine
	defect defect
}

// A look is one read with what it found.
type look struct {
	at    engine.Range
	found []engine.Entry
	point bool
}

// looker remembers what a step reads and writes. Each read is a step of its own.
type looker struct {
	eng    *memory.Engine
	ctx    context.Context
	looks  []look
	writes []write
}

type write struct {
	table engine.Table
	entry engine.Entry // without a value: it is deleted
}

func pause() { time.Sleep(time.Duration(rand.IntN(30)) * time.Microsecond) }

func (b *broken) View(ctx context.Context, read func(engine.Reader) error) error {
	if b.defect == tornView {
		return read(&looker{eng: &b.Engine, ctx: ctx})
	}
	return b.Engine.View(ctx, read)
}

func (b *broken) Update(ctx context.Context, change func(engine.Tx) error) error {
	for {
		l := &looker{eng: &b.Engine, ctx: ctx}
		failed := change(l)
		pause()
		if failed != nil && b.defect == dirtyRead {
			b.dirty(ctx, l)
		}
		if failed != nil && b.defect == earlyDecision {
			return failed
		}
		done := false
		err := b.Engine.Update(ctx, func(tx engine.Tx) error {
			if done = l.valid(tx, b.defect); !done || failed != nil || b.defect == partialStep {
				return nil
			}
			return apply(tx, l.writes)
		})
		if done && failed == nil && b.defect == partialStep {
			for i := range l.writes {
				err = b.Engine.Update(ctx, func(tx engine.Tx) error { return apply(tx, l.writes[i:i+1]) })
				pause()
			}
		}
		if failed != nil {
			err = failed
		}
		if done {
			return err
		}
	}
}

// dirty stores the changes of a step and then what was there before.
func (b *broken) dirty(ctx context.Context, l *looker) {
	var before []write
	_ = b.Engine.Update(ctx, func(tx engine.Tx) error {
		for _, w := range l.writes {
			v, _ := tx.Get(w.table, w.entry.Key)
			before = append([]write{{w.table, engine.Entry{Key: w.entry.Key, Value: v}}}, before...)
			_ = apply(tx, []write{w})
		}
		return nil
	})
	pause()
	_ = b.Engine.Update(ctx, func(tx engine.Tx) error { return apply(tx, before) })
}

func apply(tx engine.Tx, writes []write) error {
	for _, w := range writes {
		if w.entry.Value == nil {
			_ = tx.Delete(w.table, w.entry.Key)
		} else {
			_ = tx.Put(w.table, w.entry.Key, w.entry.Value)
		}
	}
	return nil
}

// valid reports whether reads find the same still.
func (l *looker) valid(tx engine.Tx, d defect) bool {
	for _, k := range l.looks {
		now := collect(tx, k.at)
		same := len(now) == len(k.found)
		for i := 0; same && i < len(now) && (k.point || d != countedRange); i++ {
			same = bytes.Equal(now[i].Key, k.found[i].Key) && bytes.Equal(now[i].Value, k.found[i].Value)
		}
		if !same && d != lostUpdate && (k.point || d != phantom) {
			return false
		}
	}
	return true
}

// look reads a range, with the step's own changes in it.
func (l *looker) look(at engine.Range, point bool) (merged []engine.Entry) {
	pause()
	whole := at
	whole.Limit = 0
	found := l.raw(whole)
	l.looks = append(l.looks, look{whole, found, point})
	_ = new(memory.Engine).Update(l.ctx, func(tx engine.Tx) error {
		for _, e := range found {
			_ = tx.Put(at.Table, e.Key, e.Value)
		}
		_ = apply(tx, l.writes)
		merged = collect(tx, at)
		return nil
	})
	return merged
}

// collect returns the entries of a range of an engine in memory, which does not fail.
func collect(r engine.Reader, at engine.Range) (found []engine.Entry) {
	for e, err := range r.Scan(at) {
		if err != nil {
			panic(err)
		}
		found = append(found, e)
	}
	return found
}

// raw returns what a range holds without own changes.
func (l *looker) raw(at engine.Range) (found []engine.Entry) {
	_ = l.eng.View(l.ctx, func(r engine.Reader) error { found = collect(r, at); return nil })
	return found
}

func (l *looker) Get(t engine.Table, key []byte) ([]byte, error) {
	for _, e := range l.look(engine.Range{Table: t, From: key, To: append(bytes.Clone(key), 0)}, true) {
		return e.Value, nil
	}
	return nil, nil
}

func (l *looker) Scan(at engine.Range) iter.Seq2[engine.Entry, error] {
	return func(yield func(engine.Entry, error) bool) {
		for _, e := range l.look(at, false) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (l *looker) Put(t engine.Table, key, value []byte) error {
	l.writes = append(l.writes, write{t, engine.Entry{Key: key, Value: value}})
	return nil
}

func (l *looker) Delete(t engine.Table, key []byte) error {
	l.writes = append(l.writes, write{t, engine.Entry{Key: key}})
	return nil
}

func (l *looker) Load(...engine.Key) error          { return nil }
func (l *looker) LoadRanges(...engine.Range) error  { return nil }
func (l *looker) Last(engine.Table) (uint64, error) { return 0, nil }
func (l *looker) Next(engine.Table) (uint64, error) { return 0, nil }
func (l *looker) Vacant(engine.Table, []byte) error { return nil }
func (l *looker) Raise(engine.Table, uint64) error  { return nil }
