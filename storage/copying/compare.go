package copying

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/sync/errgroup"

	"github.com/respawnd/respawnd/storage/engine"
)

// compare returns the contents of the tables of both engines, or an error if they differ.
// Both are read again: what a copy wrote is not trusted.
func compare(ctx context.Context, from, to engine.Engine, opt *Options) (all []TableResult, err error) {
	var differences []error
	for _, t := range opt.Tables {
		var source, target TableResult
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() (err error) {
			source, err = digest(ctx, from, t, opt)
			return err
		})
		g.Go(func() (err error) {
			target, err = digest(ctx, to, t, &Options{})
			return err
		})
		if err := g.Wait(); err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
		if source != target {
			differences = append(differences, fmt.Errorf("%w: %s: %d entries with the digest %s, copied %d with the digest %s",
				ErrDiffers, t, source.Entries, source.Digest, target.Entries, target.Digest))
		}
		all = append(all, source)
	}
	return all, errors.Join(append(differences, compareNumbers(ctx, from, to, opt.Tables))...)
}

// compareNumbers returns an error if the target would give out a number again.
func compareNumbers(ctx context.Context, from, to engine.Engine, tables []engine.Table) error {
	source, err := numbersOf(ctx, from, tables)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	target, err := numbersOf(ctx, to, tables)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	for i, t := range tables {
		if target[i] < source[i] {
			return fmt.Errorf("%w: %s: the last number is %d, copied %d", ErrDiffers, t, source[i], target[i])
		}
	}
	return nil
}

// digest returns the content of a table without damaged entries.
func digest(ctx context.Context, e engine.Engine, t engine.Table, opt *Options) (TableResult, error) {
	r, sum := TableResult{Table: t}, sha256.New()
	for p, err := range pages(ctx, e, t, nil) {
		if err == nil {
			err = opt.sound(&p, false)
		}
		if err != nil {
			return r, err
		}
		opt.seen(&p)
		for _, e := range p.entries {
			r.Entries++
			r.Bytes += int64(len(e.Key) + len(e.Value))
			writeSized(sum, e.Key)
			writeSized(sum, e.Value)
		}
	}
	r.Digest = hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// writeSized adds bytes behind their number to a hash.
func writeSized(sum hash.Hash, b []byte) {
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
	sum.Write(b)
}
