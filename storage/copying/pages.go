package copying

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/respawnd/respawnd/storage/engine"
)

// A page is read in one step, and stored in one unless the target loads many together.
const (
	firstPage   = 32      // most entries of the first page of a table
	pageEntries = 1000    // most entries of a later one
	pageBytes   = 1 << 20 // a page ends with the entry that exceeds this size
	// loadBytes is the size of the pages that a Loader gets together. An interrupted
	// copy repeats no more.
	loadBytes = 64 << 20
)

// Loader is implemented by engines that can store many entries faster than step by step.
type Loader interface {
	// Bulk stores the entries that load puts, whose keys are not there: all of them if
	// it returns nil, else none. It calls load once at most.
	Bulk(ctx context.Context, load func(put func(t engine.Table, key, value []byte) error) error) error
}

// page is some entries of a table in the order of keys.
type page struct {
	table   engine.Table
	entries []engine.Entry
	bytes   int
}

// pages yields the entries of a table above a key, without the mark of a copy. It holds no
// step while the caller works. An error is the last item.
func pages(ctx context.Context, e engine.Engine, t engine.Table, after []byte) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		most := firstPage
		for more := true; more; {
			var p page
			err := e.View(ctx, func(tx engine.Reader) (err error) {
				p, more, err = readPage(tx, t, after, most)
				return err
			})
			if err != nil {
				yield(p, fmt.Errorf("read %s: %w", t, err))
				return
			}
			if n := len(p.entries); n > 0 {
				after = p.entries[n-1].Key
				// What fits if entries stay as large: an engine behind a network sends
				// all that it is asked for.
				most = min(max(pageBytes*n/p.bytes, 1), pageEntries)
			}
			p.entries = withoutMark(t, p.entries)
			if !yield(p, nil) {
				return
			}
		}
	}
}

// readPage reads the page above a key with up to most entries, and reports whether there
// may be more.
func readPage(tx engine.Reader, t engine.Table, after []byte, most int) (p page, more bool, err error) {
	p.table = t
	r := engine.Range{Table: t, Limit: most}
	if after != nil {
		r.From = append(bytes.Clone(after), 0)
	}
	for e, err := range tx.Scan(r) {
		if err != nil {
			return p, false, err
		}
		p.entries = append(p.entries, engine.Entry{Key: bytes.Clone(e.Key), Value: bytes.Clone(e.Value)})
		if p.bytes += len(e.Key) + len(e.Value); p.bytes > pageBytes {
			return p, true, nil
		}
	}
	return p, len(p.entries) == most, nil
}

func withoutMark(t engine.Table, entries []engine.Entry) []engine.Entry {
	for i, e := range entries {
		if isMark(t, e.Key) {
			return append(entries[:i:i], entries[i+1:]...)
		}
	}
	return entries
}

// lastKey returns the highest key of a table but for the mark of a copy, nil if it is empty.
func lastKey(ctx context.Context, e engine.Engine, t engine.Table) (key []byte, err error) {
	err = e.View(ctx, func(tx engine.Reader) error {
		key = nil
		for e, err := range tx.Scan(engine.Range{Table: t, Backward: true, Limit: 2}) {
			if err != nil {
				return err
			}
			if !isMark(t, e.Key) {
				key = bytes.Clone(e.Key)
				return nil
			}
		}
		return nil
	})
	return key, err
}

// copyTables copies the entries of all tables that the target lacks.
func copyTables(ctx context.Context, from, to engine.Engine, opt *Options) error {
	for _, t := range opt.Tables {
		after, err := lastKey(ctx, to, t)
		if err != nil {
			return fmt.Errorf("copy %s: %w", t, err)
		}
		if err := copyTable(ctx, from, to, t, after, opt); err != nil {
			return fmt.Errorf("copy %s: %w", t, err)
		}
	}
	return nil
}

// copyTable copies the entries of a table above a key.
func copyTable(ctx context.Context, from, to engine.Engine, t engine.Table, after []byte, opt *Options) error {
	next, stop := iter.Pull2(pages(ctx, from, t, after))
	defer stop()
	for done, entries := false, 0; !done; {
		var stored int
		var err error
		if l, ok := to.(Loader); ok {
			stored, done, err = load(ctx, l, next, opt)
		} else {
			stored, done, err = store(ctx, to, next, opt)
		}
		if err != nil {
			return err
		}
		if entries += stored; stored > 0 && opt.Progress != nil {
			opt.Progress(t, entries)
		}
	}
	return nil
}

// store stores the next page in one step.
func store(ctx context.Context, to engine.Engine, next func() (page, error, bool), opt *Options) (stored int, done bool, err error) {
	p, err, ok := next()
	if ok && err == nil {
		err = opt.sound(&p, true)
	}
	if !ok || err != nil || len(p.entries) == 0 {
		return 0, !ok, err
	}
	err = to.Update(ctx, func(tx engine.Tx) error {
		for _, e := range p.entries {
			if err := tx.Put(p.table, e.Key, e.Value); err != nil {
				return err
			}
		}
		return nil
	})
	opt.seen(&p)
	return len(p.entries), false, err
}

func (o *Options) seen(p *page) {
	if o.Seen != nil {
		o.Seen(p.bytes)
	}
}

// load has the target load the next pages together.
func load(ctx context.Context, to Loader, next func() (page, error, bool), opt *Options) (stored int, done bool, err error) {
	err = to.Bulk(ctx, func(put func(engine.Table, []byte, []byte) error) error {
		for size := 0; size < loadBytes; {
			p, err, ok := next()
			if ok && err == nil {
				err = opt.sound(&p, true)
			}
			if done = !ok; done || err != nil {
				return err
			}
			for _, e := range p.entries {
				if err := put(p.table, e.Key, e.Value); err != nil {
					return err
				}
			}
			opt.seen(&p)
			stored += len(p.entries)
			size += p.bytes
		}
		return nil
	})
	return stored, done, err
}

// sound removes damaged entries from a page, and reports them if report says so. If nothing
// may be left out, the first is an error.
func (o *Options) sound(p *page, report bool) error {
	if o.Check == nil {
		return nil
	}
	kept := p.entries[:0]
	for _, e := range p.entries {
		_, err := o.Check(p.table, e.Key, e.Value)
		switch {
		case err == nil:
			kept = append(kept, e)
		case o.Damaged == nil:
			return fmt.Errorf("%q: %w", e.Key, err)
		case report:
			o.Damaged(p.table, e.Key, err)
		}
	}
	p.entries = kept
	return nil
}
