package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// SakeSeries is described in [storage.Carrier].
func (s *Store) SakeSeries(ctx context.Context) iter.Seq2[storage.SakeSeries, error] {
	return iterate(ctx, s, bucketSakeMeta, []byte{sakeLastID}, func(tx *bbolt.Tx, k, v []byte) (out storage.SakeSeries, err error) {
		content, err := openEntry(k, v)
		if err == nil && len(content) != 4 {
			err = storage.ErrDamaged
		}
		if err != nil {
			return out, err
		}
		out.LastID = binary.BigEndian.Uint32(content)
		game, name, _ := bytes.Cut(k[1:], []byte{0})
		out.Game, out.Name = string(game), string(name)
		t, err := getSakeTable(tx, out.SakeTableID)
		if errors.Is(err, storage.ErrNoTable) {
			return out, nil
		}
		if err == nil {
			out.Live, out.Name, out.Columns = true, t.Name, t.Columns
		}
		return out, err
	})
}

// ImportSakeSeries is described in [storage.Carrier].
func (s *Store) ImportSakeSeries(ctx context.Context, series storage.SakeSeries) error {
	if err := series.Check(); err != nil {
		return err
	}
	err := s.change(storage.WithoutAudit(ctx), func(c *change) error {
		p, last, err := c.planSakeTable(series.SakeTableID)
		if err != nil {
			return err
		}
		if series.LastID > last {
			id := binary.BigEndian.AppendUint32(nil, series.LastID)
			if err := c.putEntry(bucketSakeMeta, sakeLastIDKey(series.SakeTableID), id); err != nil {
				return err
			}
		}
		if !series.Live {
			return nil
		}
		if err := sameColumns(p.table.Columns, series.Columns); err != nil {
			return err
		}
		if p.fresh {
			if err := c.makeSakeTable(&p.table); err != nil {
				return err
			}
		}
		p.table.Columns = series.Columns
		return c.put(bucketSakeTables, sakeTableName(series.SakeTableID), &p.table)
	})
	if err != nil {
		return fmt.Errorf("import SAKE table %s/%s: %w", series.Game, series.Name, err)
	}
	return nil
}

// sameColumns returns an error unless the names of columns begin with those that a
// table has: their numbers are part of records.
func sameColumns(have, want []storage.SakeColumn) error {
	for i := range have {
		if i >= len(want) || storage.Fold(have[i].Name) != storage.Fold(want[i].Name) {
			return fmt.Errorf("%w: the table has other columns", storage.ErrConflict)
		}
	}
	return nil
}

// GivenRatings is described in [storage.Carrier].
func (s *Store) GivenRatings(ctx context.Context, table storage.SakeTableID) iter.Seq2[storage.GivenRating, error] {
	return func(yield func(storage.GivenRating, error) bool) {
		var number uint32
		err := s.view(ctx, func(tx *bbolt.Tx) error {
			t, err := getSakeTable(tx, table)
			number = t.Number
			return err
		})
		if err != nil {
			yield(storage.GivenRating{}, err)
			return
		}
		prefix := binary.BigEndian.AppendUint32(nil, number)
		iterate(ctx, s, bucketSakeRatings, prefix, func(_ *bbolt.Tx, k, v []byte) (r storage.GivenRating, err error) {
			content, err := openEntry(k, v)
			if err == nil && (len(content) != 1 || len(k) != 12) {
				err = storage.ErrDamaged
			}
			if err != nil {
				return r, err
			}
			return storage.GivenRating{
				ID: binary.BigEndian.Uint32(k[4:]), Rater: storage.ProfileID(binary.BigEndian.Uint32(k[8:])), Rating: int(content[0]),
			}, nil
		})(yield)
	}
}

// ImportRatings is described in [storage.Carrier].
func (s *Store) ImportRatings(ctx context.Context, table storage.SakeTableID, ratings []storage.GivenRating) error {
	return s.change(storage.WithoutAudit(ctx), func(c *change) error {
		t, err := getSakeTable(c.Tx, table)
		if err != nil {
			return err
		}
		for _, r := range ratings {
			if err := c.putEntry(bucketSakeRatings, sakeRatingKey(t.Number, r.ID, r.Rater), []byte{byte(r.Rating)}); err != nil {
				return err
			}
		}
		return nil
	})
}
