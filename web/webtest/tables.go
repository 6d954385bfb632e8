package webtest

import (
	"context"
	"slices"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// sakeColumns are the columns of every table of Stats.
var sakeColumns = []storage.SakeColumn{
	{Name: "title", Type: storage.SakeASCII}, {Name: "score", Type: storage.SakeInt}, {Name: "level", Type: storage.SakeBinary},
}

// newRecords returns records of two tables of gmtest: levels is public, notes is not.
func newRecords() (list []storage.OwnedSakeRecord) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, title := range []string{"The <A> level\x01", "Second", "Third", "Hidden"} {
		table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
		if title == "Hidden" {
			table.Name = "notes"
		}
		list = append(list, storage.OwnedSakeRecord{SakeTableID: table, SakeRecord: storage.SakeRecord{
			ID: uint32(2*i + 1), Owner: storage.ProfileID(i%2 + 1), Created: at, Changed: at, Ratings: i, RatingSum: int64(10 * i),
			Fields: []storage.SakeField{
				{Name: "title", Value: storage.SakeValue{Type: storage.SakeASCII, Text: []byte(title)}},
				{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(-i)}},
				{Name: "level", Value: storage.SakeValue{Type: storage.SakeBinary, Text: []byte("binary")}},
			},
		}})
	}
	return list
}

func sameTable(a, b storage.SakeTableID) bool {
	return a.Game == b.Game && storage.Fold(a.Name) == storage.Fold(b.Name)
}

// GetSakeTable implements api.Stats.
func (s *Stats) GetSakeTable(_ context.Context, id storage.SakeTableID) (storage.SakeTable, error) {
	for _, r := range s.Records {
		if sameTable(r.SakeTableID, id) {
			return storage.SakeTable{SakeTableID: id, Columns: sakeColumns}, s.Err
		}
	}
	return storage.SakeTable{}, storage.ErrNoTable
}

// ScanSake implements api.Stats, for all owners.
func (s *Stats) ScanSake(_ context.Context, id storage.SakeTableID, scan storage.SakeScan, visit func(*storage.SakeRow) bool) error {
	for i := range s.Records {
		r := &s.Records[i]
		if !sameTable(r.SakeTableID, id) || r.ID < scan.First {
			continue
		}
		var row storage.SakeRow
		err := row.Open(r.ID, storage.AppendSakeRow(nil, &r.SakeRecord, []uint32{0, 1, 2}))
		if err != nil {
			return err
		}
		if !visit(&row) {
			break
		}
	}
	return s.Err
}

// SakeRecords implements api.Stats.
func (s *Stats) SakeRecords(_ context.Context, id storage.SakeTableID, ids []uint32) (list []storage.SakeRecord, err error) {
	for _, r := range s.Records {
		if sameTable(r.SakeTableID, id) && slices.Contains(ids, r.ID) {
			list = append(list, r.SakeRecord)
		}
	}
	return list, s.Err
}
