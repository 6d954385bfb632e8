// Package enginetest has the contract of package engine as tests. Every engine runs them, so
// that records, which are tested over one engine, behave alike over all. It is not for what
// a single engine promises besides.
package enginetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/respawnd/respawnd/storage/engine"
)

// Tables that the tests use. Numbers of table Strict are in strict order in engines that
// several daemons share.
const (
	One    engine.Table = "one"
	Two    engine.Table = "two"
	Strict engine.Table = "strict"
)

// Run tests an engine. open returns an empty one, which Run does not close in general.
func Run(t *testing.T, open func(t *testing.T) engine.Engine) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, engine.Engine){
		"Values":    testValues,
		"Own":       testOwnWrites,
		"Scan":      testScan,
		"Undo":      testUndo,
		"Numbers":   testNumbers,
		"Raise":     testRaise,
		"Vacant":    testVacant,
		"Closed":    testClosed,
		"Context":   testContext,
		"Large":     testLarge,
		"Many":      testMany,
		"Increment": testIncrement,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	t.Run("History", func(t *testing.T) { History(t, open(t)) })
}

// Update runs a step that must succeed.
func Update(t *testing.T, e engine.Engine, change func(engine.Tx) error) {
	t.Helper()
	if err := e.Update(t.Context(), change); err != nil {
		t.Fatalf("Update() = %v", err)
	}
}

// View is Update for a step that reads.
func View(t *testing.T, e engine.Engine, read func(engine.Reader) error) {
	t.Helper()
	if err := e.View(t.Context(), read); err != nil {
		t.Fatalf("View() = %v", err)
	}
}

// expect reads a key, whose value must be want; nil: it must be missing.
func expect(r engine.Reader, table engine.Table, key string, want []byte) error {
	got, err := r.Get(table, []byte(key))
	if err == nil && (!bytes.Equal(got, want) || (got == nil) != (want == nil)) {
		err = fmt.Errorf("%s %.20q = %.20q, want %.20q", table, key, got, want)
	}
	return err
}

// put stores texts in table One, given as keys and values in turn.
func put(tx engine.Tx, pairs ...string) error {
	for p := range slices.Chunk(pairs, 2) {
		if err := tx.Put(One, []byte(p[0]), []byte(p[1])); err != nil {
			return err
		}
	}
	return nil
}

func testValues(t *testing.T, e engine.Engine) {
	View(t, e, func(r engine.Reader) error { return expect(r, One, "missing", nil) })
	value := []byte("value")
	Update(t, e, func(tx engine.Tx) error {
		key := []byte("key")
		err := errors.Join(tx.Put(One, key, value), tx.Put(One, []byte{0}, nil), tx.Put(Two, key, []byte("other")),
			tx.Put(One, []byte{0xFF, 0, 0xFF}, []byte{0, 1, 0xFF}))
		copy(key, "XXX")
		return errors.Join(err, expect(tx, One, "key", []byte("value")))
	})
	copy(value, "XXXXX")
	View(t, e, func(r engine.Reader) error {
		keys := []engine.Key{{Table: One, Key: []byte("key")}, {Table: Two, Key: []byte("key")}, {Table: One, Key: []byte("none")}, {Table: One, Key: []byte("key")}}
		return errors.Join(r.Load(), r.Load(keys...),
			expect(r, One, "key", []byte("value")), expect(r, Two, "key", []byte("other")), expect(r, One, "none", nil),
			expect(r, One, "\x00", []byte{}), expect(r, One, "\xFF\x00\xFF", []byte{0, 1, 0xFF}), expect(r, One, "XXX", nil))
	})
	Update(t, e, func(tx engine.Tx) error {
		return errors.Join(put(tx, "leads", "goal", "leads on", "goal and more", "astray", "none", "short", "ab"), tx.Put(Two, []byte("goal"), []byte("1")), tx.Put(One, []byte(" and"), []byte("2")))
	})
	View(t, e, func(r engine.Reader) error {
		var keys []engine.Key
		for _, k := range []string{"leads", "leads on", "astray", "short", "missing"} {
			keys = append(keys, engine.Key{Table: One, Key: []byte(k), Then: [2]engine.Table{Two, One}})
		}
		return errors.Join(r.Load(append(keys, engine.Key{Table: One, Key: []byte("key")})...), expect(r, One, "leads on", []byte("goal and more")),
			expect(r, Two, "goal", []byte("1")), expect(r, Two, "none", nil), expect(r, Two, "ab", nil), expect(r, One, " and", []byte("2")), expect(r, One, "key", []byte("value")))
	})
	Update(t, e, func(tx engine.Tx) error {
		return errors.Join(tx.Delete(One, []byte("key")), tx.Delete(One, []byte("never there")), tx.Put(Two, []byte("key"), []byte("new")))
	})
	View(t, e, func(r engine.Reader) error {
		return errors.Join(expect(r, One, "key", nil), expect(r, Two, "key", []byte("new")))
	})
}

func testOwnWrites(t *testing.T, e engine.Engine) {
	Update(t, e, func(tx engine.Tx) error { return put(tx, "a", "1", "c", "3", "e", "5") })
	Update(t, e, func(tx engine.Tx) error {
		if err := errors.Join(expect(tx, One, "a", []byte("1")), put(tx, "a", "one", "b", "two"), tx.Delete(One, []byte("c"))); err != nil {
			return err
		}
		err := errors.Join(expect(tx, One, "a", []byte("one")), expect(tx, One, "c", nil),
			tx.Load(engine.Key{Table: One, Key: []byte("b")}, engine.Key{Table: One, Key: []byte("c")}, engine.Key{Table: One, Key: []byte("e")}),
			expect(tx, One, "b", []byte("two")), expect(tx, One, "c", nil), expect(tx, One, "e", []byte("5")))
		return errors.Join(err, put(tx, "c", "back"), expect(tx, One, "c", []byte("back")), tx.Delete(One, []byte("b")), expect(tx, One, "b", nil))
	})
	View(t, e, func(r engine.Reader) error {
		return errors.Join(expect(r, One, "a", []byte("one")), expect(r, One, "b", nil), expect(r, One, "c", []byte("back")))
	})
}

func testUndo(t *testing.T, e engine.Engine) {
	Update(t, e, func(tx engine.Tx) error { return put(tx, "kept", "1", "gone", "2") })
	want := errors.New("an error of the step")
	err := e.Update(t.Context(), func(tx engine.Tx) error {
		return errors.Join(put(tx, "kept", "X", "new", "X"), tx.Delete(One, []byte("gone")), want)
	})
	if !errors.Is(err, want) {
		t.Errorf("Update() = %v, want the error of the step", err)
	}
	if err := e.Update(t.Context(), func(engine.Tx) error { return want }); err != want { //nolint:errorlint // as it is
		t.Errorf("Update() = %v, want the error as it is", err)
	}
	if err := e.View(t.Context(), func(engine.Reader) error { return want }); err != want { //nolint:errorlint // as it is
		t.Errorf("View() = %v, want the error as it is", err)
	}
	View(t, e, func(r engine.Reader) error {
		return errors.Join(expect(r, One, "kept", []byte("1")), expect(r, One, "gone", []byte("2")), expect(r, One, "new", nil))
	})
}

func testNumbers(t *testing.T, e engine.Engine) {
	for _, table := range []engine.Table{One, Strict} {
		var before uint64
		for range 40 {
			var n, m, last uint64
			Update(t, e, func(tx engine.Tx) (err error) {
				if err = tx.Load(engine.Key{Table: table}, engine.Key{Table: Two, Key: []byte("a")}); err == nil {
					n, err = tx.Next(table)
				}
				if err == nil {
					m, err = tx.Next(table)
				}
				return err
			})
			View(t, e, func(r engine.Reader) (err error) { last, err = r.Last(table); return err })
			if n <= before || m <= n || last < m {
				t.Fatalf("numbers of %s: %d, %d after %d; Last() = %d", table, n, m, before, last)
			}
			before = m
		}
	}
	var last uint64
	View(t, e, func(r engine.Reader) (err error) { last, err = r.Last(Two); return err })
	if last != 0 {
		t.Errorf("Last() of a table without numbers = %d", last)
	}
}

func testRaise(t *testing.T, e engine.Engine) {
	var first, next, after uint64
	Update(t, e, func(tx engine.Tx) (err error) { first, err = tx.Next(One); return err })
	Update(t, e, func(tx engine.Tx) (err error) {
		if err = tx.Raise(One, first+5000); err == nil {
			next, err = tx.Next(One)
		}
		return err
	})
	Update(t, e, func(tx engine.Tx) (err error) {
		if err = tx.Raise(One, first); err == nil { // lower: no effect
			after, err = tx.Next(One)
		}
		return err
	})
	if next <= first+5000 || after <= next {
		t.Errorf("numbers after Raise(%d): %d, %d", first+5000, next, after)
	}
	var last uint64
	Update(t, e, func(tx engine.Tx) error { return tx.Raise(Two, 77) })
	View(t, e, func(r engine.Reader) (err error) { last, err = r.Last(Two); return err })
	if last != 77 {
		t.Errorf("Last() after Raise(77) = %d", last)
	}
}

// A step that expects no value under a key which has one sees it in the end.
func testVacant(t *testing.T, e engine.Engine) {
	seen := make(map[string]string)
	step := func(tx engine.Tx) error {
		for _, key := range []string{"free", "taken", "own"} {
			if key == "own" {
				if err := tx.Put(One, []byte(key), []byte("written")); err != nil {
					return err
				}
			}
			if err := tx.Vacant(One, []byte(key)); err != nil {
				return err
			}
			value, err := tx.Get(One, []byte(key))
			if seen[key] = string(value); err != nil {
				return err
			}
		}
		return put(tx, "free", "new")
	}
	Update(t, e, func(tx engine.Tx) error { return put(tx, "taken", "old") })
	Update(t, e, step)
	if seen["free"] != "" || seen["taken"] != "old" || seen["own"] != "written" {
		t.Errorf("a step saw %q", seen)
	}
	View(t, e, func(r engine.Reader) error { return expect(r, One, "free", []byte("new")) })
}

func testClosed(t *testing.T, e engine.Engine) {
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Errorf("Close() twice = %v", err)
	}
	if err := e.View(t.Context(), func(engine.Reader) error { return nil }); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("View() after Close() = %v", err)
	}
	if err := e.Update(t.Context(), func(engine.Tx) error { return nil }); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Update() after Close() = %v", err)
	}
}

func testContext(t *testing.T, e engine.Engine) {
	ctx, cancel := context.WithCancel(t.Context())
	err := e.Update(ctx, func(tx engine.Tx) error { cancel(); return put(tx, "begun", "finished") })
	if err != nil {
		t.Errorf("Update() whose context ends after it began = %v", err)
	}
	ran := func(engine.Tx) error { t.Error("a step ran although its context was over"); return nil }
	if err := e.Update(ctx, ran); !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Update() with a context that is over = %v", err)
	}
	if err := e.View(ctx, func(engine.Reader) error { return ran(nil) }); !errors.Is(err, context.Canceled) {
		t.Errorf("View() with a context that is over = %v", err)
	}
	View(t, e, func(r engine.Reader) error { return expect(r, One, "begun", []byte("finished")) })
}

func testLarge(t *testing.T, e engine.Engine) {
	key := string(bytes.Repeat([]byte{0xFF}, engine.MaxKey))
	value := bytes.Repeat([]byte("0123456789abcdef"), engine.MaxValue/16)
	Update(t, e, func(tx engine.Tx) error { return errors.Join(put(tx, key, ""), tx.Put(One, []byte("large"), value)) })
	View(t, e, func(r engine.Reader) error {
		return errors.Join(expect(r, One, key, []byte{}), expect(r, One, "large", value))
	})
}

// testMany changes and scans more entries than fit a page of any engine.
func testMany(t *testing.T, e engine.Engine) {
	const n = 5000
	key := func(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }
	Update(t, e, func(tx engine.Tx) error {
		for i := range n {
			if err := tx.Put(One, key(i), key(i)); err != nil {
				return err
			}
		}
		return nil
	})
	count := func(r engine.Reader, backward bool) error {
		at := 0
		for got, err := range r.Scan(engine.Range{Table: One, Backward: backward}) {
			want := at
			if backward {
				want = n - 1 - at
			}
			if err != nil || !bytes.Equal(got.Key, key(want)) || !bytes.Equal(got.Value, key(want)) {
				return fmt.Errorf("entry %d: %x: %w", at, got.Key, err)
			}
			at++
		}
		if at != n {
			return fmt.Errorf("%d entries, want %d", at, n)
		}
		return nil
	}
	View(t, e, func(r engine.Reader) error { return errors.Join(count(r, false), count(r, true)) })
	Update(t, e, func(tx engine.Tx) error {
		if err := count(tx, true); err != nil {
			return err
		}
		for i := range n - 1 {
			if err := tx.Delete(One, key(i)); err != nil {
				return err
			}
		}
		return nil
	})
	View(t, e, func(r engine.Reader) error {
		for got, err := range r.Scan(engine.Range{Table: One, Limit: 1}) {
			if err != nil || !bytes.Equal(got.Key, key(n-1)) {
				return fmt.Errorf("first entry %x: %w", got.Key, err)
			}
		}
		return nil
	})
}

// testIncrement adds to one number at once.
func testIncrement(t *testing.T, e engine.Engine) {
	const workers, each = 8, 10
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				err := e.Update(t.Context(), func(tx engine.Tx) error {
					old, err := tx.Get(One, []byte("n"))
					if err != nil {
						return err
					}
					n := byte(1)
					if old != nil {
						n += old[0]
					}
					return tx.Put(One, []byte("n"), []byte{n})
				})
				if err != nil {
					t.Errorf("Update() = %v", err)
				}
			}
		})
	}
	wg.Wait()
	View(t, e, func(r engine.Reader) error { return expect(r, One, "n", []byte{workers * each}) })
}
