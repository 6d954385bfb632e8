package transfer

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/respawnd/respawnd/storage"
)

// ratings are those of the records of one table.
type ratings struct {
	storage.SakeTableID

	Given []storage.GivenRating `json:"given"`
}

// sakeKinds returns the kinds of SAKE. The tables come twice: before the records, whose
// stored form has the numbers of columns, and after them, because storing a record
// changes the types of columns.
func sakeKinds() []kind {
	tables := func(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
		return each(s.SakeSeries(ctx), func(r *storage.SakeSeries) {
			if !r.Live {
				r.Name = storage.Fold(r.Name)
			}
		})
	}
	put := one(func(ctx context.Context, s Store, r storage.SakeSeries) error { return s.ImportSakeSeries(ctx, r) })
	return []kind{
		{name: "SAKE tables", each: tables, put: put},
		perProfile("SAKE records", func(ctx context.Context, s Store, id storage.ProfileID) ([]storage.OwnedSakeRecord, int, error) {
			list, err := all(s.SakeOf(ctx, id))
			slices.SortFunc(list, func(a, b storage.OwnedSakeRecord) int {
				return cmp.Or(cmp.Compare(a.Game, b.Game), cmp.Compare(storage.Fold(a.Name), storage.Fold(b.Name)), cmp.Compare(a.ID, b.ID))
			})
			return list, len(list), err
		}, putSakeRecords),
		{name: "SAKE columns", each: tables, put: put},
		{name: "SAKE ratings", each: sakeRatings, put: one(func(ctx context.Context, s Store, r ratings) error {
			for part := range slices.Chunk(r.Given, batch) {
				if err := s.ImportRatings(ctx, r.SakeTableID, part); err != nil {
					return err
				}
			}
			return nil
		})},
	}
}

func putSakeRecords(ctx context.Context, s Store, list []storage.OwnedSakeRecord) error {
	for _, r := range list {
		if err := unlessTaken(s.ImportSakeRecord(ctx, r)); err != nil {
			return err
		}
	}
	return nil
}

// sakeRatings yields the ratings of each table.
func sakeRatings(ctx context.Context, s Store, _ uint64) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for t, err := range s.SakeTables(ctx, "") {
			r := ratings{SakeTableID: t.SakeTableID}
			if err == nil {
				r.Given, err = all(s.GivenRatings(ctx, t.SakeTableID))
			}
			if errors.Is(err, storage.ErrDamaged) {
				continue // reported with the tables
			}
			slices.SortFunc(r.Given, func(a, b storage.GivenRating) int {
				return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Rater, b.Rater))
			})
			if (err != nil || len(r.Given) > 0) && !yield(item{records: len(r.Given), record: r}, err) {
				return
			}
		}
	}
}
