// Package transfer copies everything from one store to another, record by record and
// whatever their engines, and compares the two.
//
// It keeps all ids and times. Revisions are those of the new store. It knows every kind
// of record of package storage; a test fails for a kind that it does not know.
package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/storage"
)

// Store is a store that can be copied, and copied to.
type Store interface {
	storage.Store
	storage.Carrier
}

const (
	// batch is the number of items that are copied before the mark moves on.
	batch = 256
	// workers is the number of items that are copied at the same time.
	workers = 32
)

// The errors of Copy.
var (
	// ErrNotEmpty means that the target has records that this copy did not make.
	ErrNotEmpty = errors.New("the target is not empty")
	// ErrDiffers means that the two stores differ after the copy.
	ErrDiffers = errors.New("source and target differ")
	// ErrUnfinished means that a copy into the store was interrupted.
	ErrUnfinished = errors.New("a copy into this store is not complete")
)

// Options say how a copy is made.
type Options struct {
	// Source names the source, so that only a copy from the same one is continued.
	Source string
	// Progress is called now and then with the number of records of a kind that are
	// copied so far; nil: nothing is.
	Progress func(kind string, records int)
	// Damaged is called for each record that cannot be read and is left out; nil: such a
	// record ends the copy.
	Damaged func(kind string, err error)
}

// Count is the result for one kind of record.
type Count struct {
	Kind    string `json:"kind"`
	Records int    `json:"records"`
	Hash    string `json:"hash"` // of all records, in any order
}

// Result is the content of both stores after a copy.
type Result struct {
	Kinds   []Count `json:"kinds"` // equal in both stores
	Records int     `json:"records"`
	Resumed bool    `json:"resumed"` // an earlier copy was continued
}

// mark is how far a copy has come.
type mark struct {
	Source string `json:"source"`
	Kind   string `json:"kind"`  // that is being copied
	After  uint64 `json:"after"` // the last item of it that is complete
}

// Copy copies all records of a store to an empty one, or continues a copy that was
// interrupted, and compares the two. Nothing else may use them meanwhile.
func Copy(ctx context.Context, from, to Store, opt Options) (r Result, err error) {
	ctx = storage.WithoutAudit(ctx)
	for _, s := range []Store{from, to} {
		s.LimitAudit(math.MaxInt32) // nothing is dropped or hidden
	}
	if mark, err := from.CopyMark(ctx); err != nil || mark != "" {
		return r, errors.Join(err, fmt.Errorf("the source cannot be copied: %w", ErrUnfinished))
	}
	at, err := begin(ctx, to, opt.Source)
	if err != nil {
		return r, err
	}
	r.Resumed = at.Kind != ""
	if err := copyFrom(ctx, from, to, at, opt); err != nil {
		return r, err
	}
	numbers, err := from.Numbers(ctx)
	if err == nil {
		err = to.RaiseNumbers(ctx, numbers)
	}
	if err != nil {
		return r, fmt.Errorf("ids: %w", err)
	}
	if r.Kinds, err = compare(ctx, from, to, opt); err != nil {
		return r, err
	}
	for _, k := range r.Kinds {
		r.Records += k.Records
	}
	return r, to.SetCopyMark(ctx, "")
}

// begin returns where the copy begins. A target with records must have a mark of the
// same source.
func begin(ctx context.Context, to Store, source string) (at mark, err error) {
	text, err := to.CopyMark(ctx)
	if err != nil {
		return at, err
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			return at, fmt.Errorf("mark of a copy: %w", err)
		}
		if at.Source != source {
			return at, fmt.Errorf("%w: a copy of %s into it was interrupted; continue that one, or begin with an empty target", ErrNotEmpty, at.Source)
		}
		return at, nil
	}
	for _, k := range kinds() {
		for _, err := range k.each(ctx, to, 0) {
			if err != nil && !errors.Is(err, storage.ErrDamaged) {
				return at, err
			}
			return at, fmt.Errorf("%w: it has %s", ErrNotEmpty, k.name)
		}
	}
	return mark{Source: source}, setMark(ctx, to, mark{Source: source, Kind: kinds()[0].name})
}

func setMark(ctx context.Context, to Store, at mark) error {
	text, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return to.SetCopyMark(ctx, string(text))
}

// copyFrom copies the kinds from a mark on.
func copyFrom(ctx context.Context, from, to Store, at mark, opt Options) error {
	skip := at.Kind != ""
	for _, k := range kinds() {
		after := uint64(0)
		if skip && k.name != at.Kind {
			continue
		}
		if skip {
			skip, after = false, at.After
		}
		if err := k.copy(ctx, from, to, after, opt); err != nil {
			return fmt.Errorf("copy %s: %w", k.name, err)
		}
	}
	return nil
}

// copy copies the items of a kind above after.
func (k *kind) copy(ctx context.Context, from, to Store, after uint64, opt Options) error {
	at := mark{Source: opt.Source, Kind: k.name, After: after}
	if err := setMark(ctx, to, at); err != nil {
		return err
	}
	if k.whole != nil {
		return k.whole(ctx, from, to)
	}
	records := 0
	var items []item
	flush := func() error {
		if len(items) == 0 {
			return nil
		}
		if err := k.store(ctx, to, items); err != nil {
			return err
		}
		at.After = items[len(items)-1].key
		for _, it := range items {
			records += it.records
		}
		items = items[:0]
		if opt.Progress != nil {
			opt.Progress(k.name, records)
		}
		return setMark(ctx, to, at)
	}
	for it, err := range k.each(ctx, from, after) {
		switch {
		case errors.Is(err, storage.ErrDamaged) && opt.Damaged != nil:
			opt.Damaged(k.name, err)
			continue
		case err != nil:
			return err
		}
		if items = append(items, it); len(items) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// store stores some items: all at once if the kind can, else many at a time.
func (k *kind) store(ctx context.Context, to Store, items []item) error {
	if k.putAll != nil {
		return k.putAll(ctx, to, items)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, it := range items {
		g.Go(func() error { return k.put(ctx, to, it) })
	}
	return g.Wait()
}

// compare returns the counts of both stores, or an error if they differ.
func compare(ctx context.Context, from, to Store, opt Options) ([]Count, error) {
	var all []Count
	var differences []error
	for _, k := range kinds() {
		var sides [2]Count
		g, ctx := errgroup.WithContext(ctx)
		for i, s := range []Store{from, to} {
			g.Go(func() (err error) {
				sides[i], err = k.count(ctx, s, i == 0 && opt.Damaged != nil)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, fmt.Errorf("compare %s: %w", k.name, err)
		}
		if sides[0] != sides[1] {
			differences = append(differences, fmt.Errorf("%w: %s: %d records with the hash %s, copied %d with the hash %s",
				ErrDiffers, k.name, sides[0].Records, sides[0].Hash, sides[1].Records, sides[1].Hash))
		}
		all = append(all, sides[0])
	}
	return all, errors.Join(differences...)
}

// Counts returns the number of records of a store, by kind.
func Counts(ctx context.Context, s Store) (all []Count, err error) {
	for _, k := range kinds() {
		c, err := k.count(ctx, s, true)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", k.name, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// count counts and hashes the records of a kind. The hash is the sum of the hashes of
// the records, so that their order does not matter.
func (k *kind) count(ctx context.Context, s Store, skipDamaged bool) (Count, error) {
	c, sum := Count{Kind: k.name}, new(big.Int)
	for it, err := range k.each(ctx, s, 0) {
		switch {
		case errors.Is(err, storage.ErrDamaged) && skipDamaged:
			continue
		case err != nil:
			return c, err
		}
		text, err := json.Marshal(it.record)
		if err != nil {
			return c, err
		}
		hash := sha256.Sum256(text)
		sum.Add(sum, new(big.Int).SetBytes(hash[:]))
		c.Records += it.records
	}
	sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 8*sha256.Size))
	whole := sha256.Sum256(sum.Bytes())
	c.Hash = hex.EncodeToString(whole[:8])
	return c, nil
}

// item is a record, or the records of one profile that are stored in one step.
type item struct {
	key     uint64 // rises from item to item, if the kind can continue after one
	records int
	record  any // with the fields that are compared only
}

// A kind is a kind of record.
type kind struct {
	name string
	// each yields the items with keys above after, or all.
	each func(ctx context.Context, s Store, after uint64) iter.Seq2[item, error]
	// put stores an item. One that is there already stays. putAll stores several, and is
	// used instead if it is not nil.
	put    func(ctx context.Context, s Store, it item) error
	putAll func(ctx context.Context, s Store, items []item) error
	// whole copies all of the kind in one step, in place of put and putAll.
	whole func(ctx context.Context, from, to Store) error
}
