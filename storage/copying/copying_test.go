package copying_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/storage/copying"
	"github.com/respawnd/respawnd/storage/engine"
	"github.com/respawnd/respawnd/storage/engine/memory"
)

// tables are those of the engines that are copied.
var tables = []engine.Table{"large", "marks", "empty", "many", "ids"}

func options() copying.Options {
	return copying.Options{Tables: tables, Source: "a", Check: check, Damaged: func(engine.Table, []byte, error) {}}
}

// check takes a value that begins with ! for a damaged one.
func check(_ engine.Table, _, value []byte) (lost bool, err error) {
	if bytes.HasPrefix(value, []byte("!")) {
		return false, engine.ErrDamaged
	}
	return false, nil
}

func change(t *testing.T, e engine.Engine, f func(engine.Tx) error) {
	t.Helper()
	if err := e.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, e engine.Engine, table engine.Table, key, value string) {
	t.Helper()
	change(t, e, func(tx engine.Tx) error { return tx.Put(table, []byte(key), []byte(value)) })
}

// source returns an engine with entries for several pages, of both limits.
func source(t *testing.T) engine.Engine {
	t.Helper()
	return sourceOf(t, 600_000)
}

// sourceOf returns an engine like that of source, with other sizes of large entries.
func sourceOf(t *testing.T, size int) engine.Engine {
	t.Helper()
	e := &memory.Engine{}
	change(t, e, func(tx engine.Tx) error {
		var errs []error
		for i := range 3 {
			errs = append(errs, tx.Put("large", fmt.Append(nil, i), bytes.Repeat([]byte{byte(i)}, size)))
		}
		for i := range uint32(2032) { // a whole number of pages
			errs = append(errs, tx.Put("many", binary.BigEndian.AppendUint32(nil, i), nil))
		}
		return errors.Join(append(errs, tx.Put("marks", []byte("another"), []byte("b")), tx.Put("marks", []byte("room"), []byte("7")),
			tx.Raise("ids", 77), tx.Raise("many", 2032))...)
	})
	return e
}

// digests returns what an engine has.
func digests(t *testing.T, e engine.Engine) []copying.TableResult {
	t.Helper()
	all, err := copying.Digests(t.Context(), e, copying.Options{Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// unfinished returns the source of an interrupted copy.
func unfinished(t *testing.T, e engine.Engine) string {
	t.Helper()
	source, err := copying.Unfinished(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// equal compares the result of a copy with both engines.
func equal(t *testing.T, r copying.Result, from, to engine.Engine) {
	t.Helper()
	if diff := cmp.Diff(digests(t, from), digests(t, to)); diff != "" {
		t.Errorf("-source +copy:\n%s", diff)
	}
	if diff := cmp.Diff(r.Tables, digests(t, to)); diff != "" {
		t.Errorf("-result +copy:\n%s", diff)
	}
	if source := unfinished(t, to); source != "" {
		t.Errorf("a copy of %q is marked as unfinished", source)
	}
	err := to.View(t.Context(), func(tx engine.Reader) error {
		ids, err := tx.Last("ids")
		many, manyErr := tx.Last("many")
		if ids != 77 || many != 2032 {
			t.Errorf("the last numbers are %d and %d, want 77 and 2032", ids, many)
		}
		return errors.Join(err, manyErr)
	})
	if err != nil {
		t.Error(err)
	}
}

// loader is an engine that loads entries. Each must be above those that are there.
type loader struct{ engine.Engine }

func (l loader) Bulk(ctx context.Context, load func(put func(engine.Table, []byte, []byte) error) error) error {
	return l.Update(ctx, func(tx engine.Tx) error {
		return load(func(t engine.Table, key, value []byte) error {
			for _, err := range tx.Scan(engine.Range{Table: t, From: key, Limit: 1}) {
				if err != nil || t != copying.MarkTable {
					return fmt.Errorf("%s %q: a key from there on exists: %w", t, key, err)
				}
			}
			return tx.Put(t, key, value)
		})
	})
}

// targets are kinds of empty engines.
func targets() map[string]func() engine.Engine {
	return map[string]func() engine.Engine{
		"step by step": func() engine.Engine { return &memory.Engine{} },
		"loaded":       func() engine.Engine { return loader{&memory.Engine{}} },
	}
}

func TestCopy(t *testing.T) {
	for name, empty := range targets() {
		t.Run(name, func(t *testing.T) {
			from, to := source(t), empty()
			seen := make(map[engine.Table]int)
			opt := options()
			opt.Progress = func(t engine.Table, entries int) { seen[t] = entries }
			read := 0
			opt.Seen = func(bytes int) { read += bytes }
			size, err := copying.Size(t.Context(), from, opt.Tables)
			if err != nil {
				t.Fatal(err)
			}
			r, err := copying.Copy(t.Context(), from, to, opt)
			if err != nil || r.Resumed {
				t.Fatalf("Copy() = %+v, %v", r, err)
			}
			equal(t, r, from, to)
			if r.Entries != 2037 || r.Bytes != 3+3*600_000+2032*4+7+1+4+1 {
				t.Errorf("%d entries with %d bytes were copied", r.Entries, r.Bytes)
			}
			if size != r.Bytes || int64(read) != 2*size {
				t.Errorf("the size is said to be %d, and %d bytes were copied and compared, want %d and twice that", size, read, r.Bytes)
			}
			want := map[engine.Table]int{"large": 3, "many": 2032, "marks": 2}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("progress, -want +got:\n%s", diff)
			}
			if _, err := copying.Copy(t.Context(), from, to, options()); !errors.Is(err, copying.ErrNotEmpty) {
				t.Errorf("a second Copy() = %v, want ErrNotEmpty", err)
			}
		})
	}
}

// TestDigest has the digest of entries that two lengths tell apart.
func TestDigest(t *testing.T) {
	one, other := &memory.Engine{}, &memory.Engine{}
	put(t, one, "many", "ab", "c")
	put(t, other, "many", "a", "bc")
	a, b := digests(t, one), digests(t, other)
	if a[3].Digest == b[3].Digest || a[3].Bytes != b[3].Bytes {
		t.Errorf("the digests of %+v and %+v", a[3], b[3])
	}
	const want = "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f"
	if a[3].Digest != want {
		t.Errorf("the digest is %s, want %s", a[3].Digest, want)
	}
}

// errStop is the failure of a failing engine.
var errStop = errors.New("stopped by the test")

// steps counts the steps of engines. After some, all fail.
type steps struct {
	happens bool // a change that fails is made

	mu   sync.Mutex // guards left
	left int
}

func (s *steps) next() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left < 0 {
		return errStop
	}
	return nil
}

// failing is an engine whose steps fail after some.
type failing struct {
	engine.Engine

	steps *steps
}

func (f failing) View(ctx context.Context, read func(engine.Reader) error) error {
	if err := f.steps.next(); err != nil {
		return err
	}
	return f.Engine.View(ctx, read)
}

func (f failing) Update(ctx context.Context, change func(engine.Tx) error) error {
	err := f.steps.next()
	if err != nil && !f.steps.happens {
		return err
	}
	return errors.Join(err, f.Engine.Update(ctx, change))
}

// failingLoader is failing for a loader.
type failingLoader struct {
	failing

	loader loader
}

func (f failingLoader) Bulk(ctx context.Context, load func(put func(engine.Table, []byte, []byte) error) error) error {
	if err := f.steps.next(); err != nil {
		return err
	}
	return f.loader.Bulk(ctx, load)
}

// fail returns an engine that fails after some steps.
func fail(e engine.Engine, s *steps) engine.Engine {
	if l, ok := e.(loader); ok {
		return failingLoader{failing{e, s}, l}
	}
	return failing{e, s}
}

func TestCopyContinuesAfterEachStep(t *testing.T) {
	for name, empty := range targets() {
		t.Run(name, func(t *testing.T) {
			from := sourceOf(t, 1000)
			n := 0
			for ; ; n++ {
				to, s := empty(), &steps{left: n / 2, happens: n%2 == 0}
				_, err := copying.Copy(t.Context(), fail(from, s), fail(to, s), options())
				if err == nil {
					break
				}
				if !errors.Is(err, errStop) {
					t.Fatalf("a copy that stops after %d steps = %v", n/2, err)
				}
				marked := unfinished(t, to) == "a"
				if marked {
					refuses(t, from, to)
				}
				r, err := copying.Copy(t.Context(), from, to, options())
				if !marked && errors.Is(err, copying.ErrNotEmpty) { // the removal of the mark, which is last, happened
					if diff := cmp.Diff(digests(t, from), digests(t, to)); diff != "" {
						t.Errorf("without a mark after %d steps, -source +copy:\n%s", n/2, diff)
					}
					continue
				}
				if err != nil || r.Resumed != marked {
					t.Fatalf("after %d steps, marked: %v, Copy() = %v, resumed: %v", n/2, marked, err, r.Resumed)
				}
				equal(t, r, from, to)
			}
			if n < 40 {
				t.Errorf("a copy has %d steps, which is too few for this test", n/2)
			}
		})
	}
}

// digestsOfSome returns the tables of an engine that have entries.
func digestsOfSome(t *testing.T, e engine.Engine) (some []copying.TableResult) {
	t.Helper()
	for _, r := range digests(t, e) {
		if r.Entries > 0 {
			some = append(some, r)
		}
	}
	return some
}

// refuses tries what an unfinished copy must not be used for.
func refuses(t *testing.T, from, to engine.Engine) {
	t.Helper()
	opt := options()
	opt.Source = "another"
	if _, err := copying.Copy(t.Context(), from, to, opt); !errors.Is(err, copying.ErrNotEmpty) || !strings.Contains(err.Error(), "a copy of a into it") {
		t.Errorf("a copy of another source = %v, want ErrNotEmpty", err)
	}
	if _, err := copying.Copy(t.Context(), to, &memory.Engine{}, opt); !errors.Is(err, copying.ErrUnfinished) {
		t.Errorf("a copy of an unfinished copy = %v, want ErrUnfinished", err)
	}
}

func TestCopyInSmallParts(t *testing.T) {
	from, to := source(t), &memory.Engine{}
	for n := 1; ; n++ {
		s := &steps{left: 2 * n}
		r, err := copying.Copy(t.Context(), from, fail(to, s), options())
		if err != nil {
			if !errors.Is(err, errStop) || n > 100 {
				t.Fatalf("attempt %d: %v", n, err)
			}
			continue
		}
		if n == 1 || !r.Resumed {
			t.Errorf("the copy was not continued, in attempt %d", n)
		}
		equal(t, r, from, to)
		return
	}
}

func TestDamagedEntriesAreLeftOut(t *testing.T) {
	for name, empty := range targets() {
		t.Run(name, func(t *testing.T) {
			from, to := source(t), empty()
			want := digests(t, from)
			put(t, from, "many", "\x00\x00\x00\x07+", "!")
			put(t, from, "many", "\xFF\xFF\xFF\xFF", "!")
			var reported []string
			opt := options()
			opt.Damaged = func(t engine.Table, key []byte, err error) {
				reported = append(reported, fmt.Sprintf("%s %q %v", t, key, errors.Is(err, engine.ErrDamaged)))
			}
			r, err := copying.Copy(t.Context(), from, to, opt)
			if err != nil {
				t.Fatalf("Copy() = %v", err)
			}
			if diff := cmp.Diff(want, digests(t, to)); diff != "" {
				t.Errorf("-sound entries +copy:\n%s", diff)
			}
			if diff := cmp.Diff(want, r.Tables); diff != "" {
				t.Errorf("-sound entries +result:\n%s", diff)
			}
			if diff := cmp.Diff([]string{`many "\x00\x00\x00\a+" true`, `many "\xff\xff\xff\xff" true`}, reported); diff != "" {
				t.Errorf("reports, -want +got:\n%s", diff)
			}
			opt.Damaged = nil
			if _, err := copying.Copy(t.Context(), from, empty(), opt); !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), "copy many") {
				t.Errorf("Copy() that leaves nothing out = %v, want ErrDamaged", err)
			}
		})
	}
}

func TestTargetWithEntriesIsRefused(t *testing.T) {
	for _, table := range tables {
		to := &memory.Engine{}
		put(t, to, table, "key", "")
		_, err := copying.Copy(t.Context(), source(t), to, options())
		if !errors.Is(err, copying.ErrNotEmpty) || !strings.Contains(err.Error(), "it has "+string(table)) {
			t.Errorf("Copy() to an engine with %s = %v, want ErrNotEmpty", table, err)
		}
	}
}

func TestCopyNeedsANameOfTheSource(t *testing.T) {
	opt, to := options(), &memory.Engine{}
	opt.Source = ""
	if _, err := copying.Copy(t.Context(), source(t), to, opt); err == nil || len(digestsOfSome(t, to)) > 0 {
		t.Errorf("Copy() without a name = %v", err)
	}
}

func TestDamagedMarkIsAnError(t *testing.T) {
	e := &memory.Engine{}
	put(t, e, copying.MarkTable, copying.MarkKey, "x")
	if _, err := copying.Copy(t.Context(), source(t), e, options()); !errors.Is(err, engine.ErrDamaged) {
		t.Errorf("Copy() to an engine with a damaged mark = %v, want ErrDamaged", err)
	}
}

// changing is a target that changes what it stores.
type changing struct {
	engine.Engine

	change func(tx engine.Tx) engine.Tx
}

func (c changing) Update(ctx context.Context, change func(engine.Tx) error) error {
	return c.Engine.Update(ctx, func(tx engine.Tx) error { return change(c.change(tx)) })
}

// changingTx loses a key, changes a value or loses numbers.
type changingTx struct {
	engine.Tx

	lost, changed string
	numbers       bool
}

func (x changingTx) Put(t engine.Table, key, value []byte) error {
	switch string(key) {
	case x.lost:
		return nil
	case x.changed:
		value = append(bytes.Clone(value), 0)
	}
	return x.Tx.Put(t, key, value)
}

func (x changingTx) Raise(t engine.Table, n uint64) error {
	if x.numbers {
		n--
	}
	return x.Tx.Raise(t, n)
}

func TestCopyComparesBothSides(t *testing.T) {
	for want, x := range map[string]changingTx{
		"differ: large: 3 entries": {lost: "2"}, "differ: many: 2032 entries": {changed: "\x00\x00\x01\x02"},
		"differ: many: the last number is 2032, copied 2031": {numbers: true},
	} {
		to := changing{&memory.Engine{}, func(tx engine.Tx) engine.Tx { x.Tx = tx; return x }}
		_, err := copying.Copy(t.Context(), source(t), to, options())
		if !errors.Is(err, copying.ErrDiffers) || !strings.Contains(err.Error(), want) {
			t.Errorf("Copy() to a target that changes something = %v, want %q", err, want)
		}
		if unfinished(t, to) == "" {
			t.Errorf("a copy with %q is taken for finished", want)
		}
	}
}

// sending is an engine that sends all entries of a range up to its limit, also those that
// the loop does not take.
type sending struct {
	engine.Engine

	bytes int
}

func (s *sending) View(ctx context.Context, read func(engine.Reader) error) error {
	return s.Engine.View(ctx, func(tx engine.Reader) error { return read(sendingReader{tx, s}) })
}

type sendingReader struct {
	engine.Reader

	to *sending
}

func (r sendingReader) Scan(all engine.Range) iter.Seq2[engine.Entry, error] {
	for e := range r.Reader.Scan(all) { //nolint:errcheck // the loop over the result sees it
		r.to.bytes += len(e.Key) + len(e.Value)
	}
	return r.Reader.Scan(all)
}

func TestLargeEntriesAreSentOnce(t *testing.T) {
	e := &sending{Engine: &memory.Engine{}}
	for i := range 200 {
		put(t, e, "large", fmt.Sprintf("%03d", i), strings.Repeat("x", 50_000))
	}
	const want = 200 * 50_003
	if r := digests(t, e)[0]; r.Entries != 200 || r.Bytes != want {
		t.Errorf("the digest is that of %d entries with %d bytes, want %d", r.Entries, r.Bytes, want)
	}
	if e.bytes > want*11/10 {
		t.Errorf("%d bytes were sent to read %d", e.bytes, want)
	}
}

func TestCancelledCopyStops(t *testing.T) {
	from, to := source(t), &memory.Engine{}
	ctx, cancel := context.WithCancel(t.Context())
	opt := options()
	opt.Progress = func(engine.Table, int) { cancel() }
	if _, err := copying.Copy(ctx, from, to, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("Copy() = %v, want context.Canceled", err)
	}
	if unfinished(t, to) != "a" {
		t.Error("a cancelled copy is taken for finished")
	}
}
