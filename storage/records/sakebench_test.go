package records

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// sakeFields returns the fields of a record.
func sakeFields(i int) []storage.SakeField {
	return []storage.SakeField{
		{Name: "name", Value: storage.SakeValue{Type: storage.SakeUnicode, Text: fmt.Appendf(nil, "player %d", i)}},
		{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(i*7919) % 100_003}},
		{Name: "level", Value: storage.SakeValue{Type: storage.SakeByte, Num: int64(i % 100)}},
		{Name: "ratio", Value: storage.SakeFloatValue(float32(i) / 3)},
		{Name: "data", Value: storage.SakeValue{Type: storage.SakeBinary, Text: make([]byte, 64)}},
	}
}

// fillSake stores a table of n records, of which every profile owns ten, with few large
// steps.
func fillSake(tb testing.TB, s *Store, table storage.SakeTableID, n int) {
	tb.Helper()
	meta := func(c *change) error {
		t := sakeTable{Game: table.Game, Name: table.Name, Number: 1}
		for _, f := range sakeFields(0) {
			t.Columns = append(t.Columns, storage.SakeColumn{Name: f.Name, Type: f.Value.Type})
		}
		c.put(tableSakeTables, sakeTableName(table), &t)
		c.putEntry(tableSakeMeta, sakeNumberKey(sakeTableKey, 1), sakeTableName(table))
		c.putEntry(tableSakeMeta, sakeLastIDKey(table), binary.BigEndian.AppendUint32(nil, uint32(n)))
		return nil
	}
	now := time.Now()
	const step = 50_000
	for from := 0; from < n; from += step {
		err := s.change(tb.Context(), func(c *change) error {
			if err := meta(c); err != nil {
				return err
			}
			for i := from; i < min(n, from+step); i++ {
				rec := storage.SakeRecord{ID: uint32(i + 1), Owner: storage.ProfileID(i/10 + 1), Created: now, Changed: now, Fields: sakeFields(i)}
				key := sakeRecordKey(1, rec.ID)
				c.putValue(tableSakeRecords, key, sealSakeRow(key, &rec, []uint32{0, 1, 2, 3, 4}))
				c.putEntry(tableSakeByOwner, sakeByOwnerKey(rec.Owner, 1, rec.ID), nil)
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkScanSakeOwner reads the ten records of one profile.
func BenchmarkScanSakeOwner(b *testing.B) {
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openNew(b)
			fillSake(b, s, table, n)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				found := 0
				err := s.ScanSake(b.Context(), table, storage.SakeScan{Owners: []storage.ProfileID{storage.ProfileID(i%(n/10) + 1)}}, func(*storage.SakeRow) bool {
					found++
					return true
				})
				if found != 10 || err != nil {
					b.Fatal(found, err)
				}
			}
		})
	}
}

// BenchmarkScanSake visits 100,000 records and reads all of their fields.
func BenchmarkScanSake(b *testing.B) {
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	s := openNew(b)
	fillSake(b, s, table, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		fields := 0
		err := s.ScanSake(b.Context(), table, storage.SakeScan{}, func(r *storage.SakeRow) bool {
			for _, _, ok := r.Next(); ok; _, _, ok = r.Next() {
				fields++
			}
			return true
		})
		if fields != 500_000 || err != nil {
			b.Fatal(fields, err)
		}
	}
}

func BenchmarkCreateSakeRecord(b *testing.B) {
	s := openNew(b)
	_, p, err := s.CreateUser(b.Context(), storage.User{Email: "a@b.c"}, storage.Profile{Nick: "Nick"})
	if err != nil {
		b.Fatal(err)
	}
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	fields := []storage.SakeField{{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: 5}}}
	b.ReportAllocs()
	for b.Loop() {
		id, err := s.CreateSakeRecord(b.Context(), table, p.ID, fields, storage.SakeLimits{})
		if err == nil && id%100 == 0 {
			_, err = s.DeleteSakeTable(b.Context(), table)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
