package records

import (
	"fmt"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// A view is a step that reads. It keeps the first error of its reads, which is then that of
// the step, whatever the function of the step returns: after it they find nothing, changes do
// nothing, and code does not ask after each one whether it failed. A record that is missing or
// damaged is no such error, see get, but a damaged entry is. A step that cannot continue keeps
// its reason likewise.
type view struct {
	engine.Reader
	err error
}

// failed keeps the first error and reports whether there is one.
func (v *view) failed(err error) bool {
	if v.err == nil {
		v.err = err
	}
	return v.err != nil
}

// damage returns the error if it is about damage, and forgets it: the step continues.
func (v *view) damage() (err error) {
	if isDamage(v.err) {
		err, v.err = v.err, nil
	}
	return err
}

// load is Load, and loadRanges LoadRanges, of [engine.Reader].
func (v *view) load(keys ...engine.Key) {
	if v.err == nil {
		v.failed(v.Load(keys...))
	}
}

func (v *view) loadRanges(ranges ...engine.Range) {
	if v.err == nil {
		v.failed(v.LoadRanges(ranges...))
	}
}

// scan yields the entries of a range.
func (v *view) scan(r engine.Range) iter.Seq[engine.Entry] {
	return func(yield func(engine.Entry) bool) {
		if v.err == nil {
			v.Scan(r)(func(e engine.Entry, err error) bool { return !v.failed(err) && yield(e) })
		}
	}
}

// entries is scan for entries of an index, pairs and numbers. Their contents, of at least size
// bytes, are the values.
func (v *view) entries(r engine.Range, size int) iter.Seq[engine.Entry] {
	return func(yield func(engine.Entry) bool) {
		for e := range v.scan(r) {
			if e.Value = v.open(r.Table, e, size); v.err != nil || !yield(e) {
				return
			}
		}
	}
}

// keys returns copies of the keys of a range.
func (v *view) keys(r engine.Range) (keys [][]byte) {
	for e := range v.scan(r) {
		keys = append(keys, slices.Clone(e.Key))
	}
	return keys
}

// first returns the first entry of a range; its key is nil if there is none.
func (v *view) first(r engine.Range) engine.Entry {
	r.Limit = 1
	for e := range v.scan(r) {
		return e
	}
	return engine.Entry{}
}

// count returns how many keys begin with prefix, up to most; 0: all.
func (v *view) count(t engine.Table, prefix []byte, most int) (n int) {
	for range v.scan(prefixUpTo(t, prefix, most)) {
		n++
	}
	return n
}

// get returns the value of a key, which may come from a client: nil if there is none, as under
// one that no table can have.
func (v *view) get(t engine.Table, key []byte) []byte {
	if v.err != nil || !possible(key) {
		return nil
	}
	value, err := v.Get(t, key)
	if v.failed(err) {
		return nil
	}
	return value
}

// has reports whether a table has a key.
func (v *view) has(t engine.Table, key []byte) bool { return v.get(t, key) != nil }

// entry returns the content of an entry, which has at least size bytes, nil if there is none.
func (v *view) entry(t engine.Table, key []byte, size int) []byte {
	value := v.get(t, key)
	if value == nil {
		return nil
	}
	return v.open(t, engine.Entry{Key: key, Value: value}, size)
}

// wanted is entry with ErrNotFound, or the error of the view, instead of no content.
func (v *view) wanted(t engine.Table, key []byte, size int) ([]byte, error) {
	content := v.entry(t, key, size)
	if content == nil {
		return nil, orElse(v.err, storage.ErrNotFound)
	}
	return content, nil
}

// open returns the content of an entry that has at least size bytes.
func (v *view) open(t engine.Table, e engine.Entry, size int) []byte {
	content, err := engine.Unseal(e.Key, e.Value)
	if err == nil && len(content) < size {
		err = fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(content))
	}
	if err != nil {
		v.failed(about(t, e.Key, err))
		return nil
	}
	return content
}

// get returns the record under a key. The error is ErrNotFound or ErrDamaged, or that of the
// view.
func get[R any](v *view, t engine.Table, key []byte) (record R, err error) {
	err = getInto(v, t, key, &record)
	return record, err
}

// want is get of a record without which the step fails.
func want[R any](v *view, t engine.Table, key []byte) R {
	record, err := get[R](v, t, key)
	v.failed(err)
	return record
}

// getInto is get with decodeInto.
func getInto[R any](v *view, t engine.Table, key []byte, record *R) error {
	value, err := v.stored(t, key)
	if err != nil {
		*record = *new(R)
		return err
	}
	return about(t, key, decodeInto(key, value, record))
}

// stored is get with errors: ErrNotFound instead of no value, ErrDamaged, which is not kept, or
// that of the view.
func (v *view) stored(t engine.Table, key []byte) ([]byte, error) {
	if v.err != nil {
		return nil, v.err
	}
	value := v.get(t, key)
	if value == nil {
		return nil, orElse(v.damage(), orElse(v.err, storage.ErrNotFound))
	}
	return value, nil
}

// about adds to an error where the value is that it is about.
func about(t engine.Table, key []byte, err error) error {
	if err == nil {
		return nil // without room for the arguments
	}
	return wrapped(err, "%s %q", t, key)
}

// wrapped adds to an error what failed.
func wrapped(err error, format string, args ...any) error {
	if err != nil {
		err = fmt.Errorf(format+": %w", append(args, err)...)
	}
	return err
}

// orElse returns the first error unless it is nil.
func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// keysIn names keys of a table that may be in it, to load them.
func keysIn(t engine.Table, keys [][]byte) []engine.Key {
	all := make([]engine.Key, 0, len(keys))
	for _, key := range keys {
		if possible(key) {
			all = append(all, engine.Key{Table: t, Key: key})
		}
	}
	return all
}

// loadEach loads the keys that things have in a table, and returns them.
func loadEach[T any](v interface{ load(keys ...engine.Key) }, t engine.Table, things []T, key func(T) []byte) [][]byte {
	keys := make([][]byte, len(things))
	for i, thing := range things {
		keys[i] = key(thing)
	}
	v.load(keysIn(t, keys)...)
	return keys
}

// possible reports whether a table can have a key.
func possible(key []byte) bool { return len(key) > 0 && len(key) <= engine.MaxKey }

// whole is the range of all keys of a table.
func whole(t engine.Table) engine.Range { return engine.Range{Table: t} }

// prefixUpTo is the range of the first keys with a prefix, up to most; 0: all.
func prefixUpTo(t engine.Table, prefix []byte, most int) engine.Range {
	r := engine.Prefix(t, prefix)
	r.Limit = most
	return r
}

// lastID returns the id of 4 bytes that ends a key of an index, lastID64 that of 8 bytes, or
// the whole of a shorter key.
func lastID(key []byte) []byte   { return key[max(len(key)-4, 0):] }
func lastID64(key []byte) []byte { return key[max(len(key)-8, 0):] }
