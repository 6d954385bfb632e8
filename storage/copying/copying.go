// Package copying copies all tables of one engine to another, entry by entry, and compares
// the two. It knows no records: values stay as they are, byte by byte.
//
// A copy begins with a mark in the target, which is removed last: while it is there, the
// target is not complete, and the same copy into it can be continued.
package copying

import (
	"context"
	"errors"
	"fmt"

	"github.com/respawnd/respawnd/storage/engine"
)

// The errors of Copy.
var (
	// ErrNotEmpty means that the target has entries that this copy did not make.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrDiffers means that the two engines differ after the copy.
	ErrDiffers = errors.New("source and target differ")
	// ErrUnfinished means that a copy into the engine was interrupted.
	ErrUnfinished = errors.New("a copy into this store is not complete")
)

// Options say how a copy is made.
type Options struct {
	// Tables are all tables, in the order in which they are copied.
	Tables []engine.Table
	// Source names the source, so that only a copy from the same one is continued. It is
	// not empty.
	Source string
	// Progress is called now and then with the number of entries of a table that were
	// copied; nil: nothing is.
	Progress func(t engine.Table, entries int)
	// Seen is called with the bytes of entries that were copied, and once more when they were
	// compared: in all with twice what Size says, if no copy is continued. nil: it is not.
	Seen func(bytes int)
	// Check returns an error for an entry that is damaged, as [engine.Layout] says; nil:
	// none is.
	Check func(t engine.Table, key, value []byte) (lost bool, err error)
	// Damaged is called for each damaged entry, which is left out; nil: such an entry
	// ends the copy.
	Damaged func(t engine.Table, key []byte, err error)
}

// TableResult is the content of one table.
type TableResult struct {
	Table   engine.Table `json:"table"`
	Entries int          `json:"entries"`
	Bytes   int64        `json:"bytes"` // of all keys and values
	// Digest is the SHA-256 of all keys and values, each behind its length as 8 bytes,
	// in the order of keys, in hex digits.
	Digest string `json:"digest"`
}

// Result is the content of both engines after a copy, without damaged entries.
type Result struct {
	Tables  []TableResult `json:"tables"` // equal in both engines
	Entries int           `json:"entries"`
	Bytes   int64         `json:"bytes"`
	Resumed bool          `json:"resumed"` // an earlier copy was continued
}

// Copy copies all entries and numbers of an engine to an empty one, or continues a copy
// that was interrupted, and compares the two. Nothing else may use them meanwhile.
func Copy(ctx context.Context, from, to engine.Engine, opt Options) (r Result, err error) {
	if opt.Source == "" {
		return r, errors.New("the source of a copy needs a name")
	}
	source, err := Unfinished(ctx, from)
	if err == nil && source != "" {
		err = ErrUnfinished
	}
	if err != nil {
		return r, fmt.Errorf("the source cannot be copied: %w", err)
	}
	if r.Resumed, err = begin(ctx, to, &opt); err != nil {
		return r, err
	}
	if err := copyTables(ctx, from, to, &opt); err != nil {
		return r, err
	}
	if err := copyNumbers(ctx, from, to, opt.Tables); err != nil {
		return r, fmt.Errorf("copy numbers: %w", err)
	}
	if r.Tables, err = compare(ctx, from, to, &opt); err != nil {
		return r, err
	}
	for _, t := range r.Tables {
		r.Entries += t.Entries
		r.Bytes += t.Bytes
	}
	return r, unmark(ctx, to)
}

// Size returns the bytes of all keys and values in tables of an engine. It reads them.
func Size(ctx context.Context, e engine.Engine, tables []engine.Table) (size int64, err error) {
	for _, t := range tables {
		for p, err := range pages(ctx, e, t, nil) {
			if err != nil {
				return 0, err
			}
			size += int64(p.bytes)
		}
	}
	return size, nil
}

// begin marks an empty target. One with entries must have the mark of the same copy.
func begin(ctx context.Context, to engine.Engine, opt *Options) (resumed bool, err error) {
	source, err := Unfinished(ctx, to)
	switch {
	case err != nil:
		return false, err
	case source == opt.Source:
		return true, nil
	case source != "":
		return false, fmt.Errorf("%w: a copy of %s into it was interrupted; continue that one, or begin with an empty target", ErrNotEmpty, source)
	}
	err = to.View(ctx, func(tx engine.Reader) error {
		for _, t := range opt.Tables {
			for _, err := range tx.Scan(engine.Range{Table: t, Limit: 1, Loose: true}) {
				if err != nil && !errors.Is(err, engine.ErrDamaged) {
					return err
				}
				return fmt.Errorf("%w: it has %s", ErrNotEmpty, t)
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	return false, mark(ctx, to, opt.Source)
}

// copyNumbers has the target give out no number that the source has given out.
func copyNumbers(ctx context.Context, from, to engine.Engine, tables []engine.Table) error {
	numbers, err := numbersOf(ctx, from, tables)
	if err != nil {
		return err
	}
	return to.Update(ctx, func(tx engine.Tx) error {
		for i, t := range tables {
			if numbers[i] == 0 {
				continue
			}
			if err := tx.Raise(t, numbers[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// numbersOf returns the last numbers of tables.
func numbersOf(ctx context.Context, e engine.Engine, tables []engine.Table) (numbers []uint64, err error) {
	err = e.View(ctx, func(tx engine.Reader) error {
		numbers = nil
		for _, t := range tables {
			n, err := tx.Last(t)
			if err != nil {
				return err
			}
			numbers = append(numbers, n)
		}
		return nil
	})
	return numbers, err
}

// Where an engine has the mark of a copy into it. It is no part of what is copied.
const (
	MarkTable = engine.Table("marks") // MarkTable may have other entries.
	MarkKey   = "copy"                // MarkKey is the key of the mark.
)

// Unfinished returns the source of the copy into an engine that was interrupted, "" if
// there is none.
func Unfinished(ctx context.Context, e engine.Engine) (source string, err error) {
	err = e.View(ctx, func(tx engine.Reader) error {
		v, err := tx.Get(MarkTable, []byte(MarkKey))
		if err == nil && v != nil {
			v, err = engine.Unseal([]byte(MarkKey), v)
		}
		source = string(v)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("mark of a copy: %w", err)
	}
	return source, nil
}

// mark marks the target of a copy.
func mark(ctx context.Context, e engine.Engine, source string) error {
	return e.Update(ctx, func(tx engine.Tx) error {
		return tx.Put(MarkTable, []byte(MarkKey), engine.Seal([]byte(MarkKey), []byte(source)))
	})
}

func unmark(ctx context.Context, e engine.Engine) error {
	return e.Update(ctx, func(tx engine.Tx) error { return tx.Delete(MarkTable, []byte(MarkKey)) })
}

// isMark reports whether a key is that of the mark.
func isMark(t engine.Table, key []byte) bool { return t == MarkTable && string(key) == MarkKey }
