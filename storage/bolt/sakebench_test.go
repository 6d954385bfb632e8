package bolt

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// fillSake stores a table of n records, of which every profile owns ten, with few large
// transactions.
func fillSake(tb testing.TB, s *Store, table storage.SakeTableID, n int) {
	tb.Helper()
	columns := []storage.SakeColumn{
		{Name: "name", Type: storage.SakeUnicode},
		{Name: "score", Type: storage.SakeInt},
		{Name: "level", Type: storage.SakeByte},
		{Name: "ratio", Type: storage.SakeFloat},
		{Name: "data", Type: storage.SakeBinary},
	}
	meta := func(c *change, last uint32) error {
		t := sakeTable{Game: table.Game, Name: table.Name, Number: 1, Columns: columns}
		if err := c.put(bucketSakeTables, sakeTableName(table), &t); err != nil {
			return err
		}
		if err := c.putEntry(bucketSakeMeta, sakeNumberKey(sakeTableKey, 1), sakeTableName(table)); err != nil {
			return err
		}
		return c.putEntry(bucketSakeMeta, sakeLastIDKey(table), binary.BigEndian.AppendUint32(nil, last))
	}
	now := time.Now()
	const step = 50_000
	for from := 0; from < n; from += step {
		err := s.update(tb.Context(), func(tx *bbolt.Tx) error {
			c := &change{Tx: tx}
			if err := meta(c, uint32(n)); err != nil {
				return err
			}
			records := tx.Bucket([]byte(bucketSakeRecords))
			records.FillPercent = 0.95
			for i := from; i < min(n, from+step); i++ {
				rec := storage.SakeRecord{
					ID: uint32(i + 1), Owner: storage.ProfileID(i/10 + 1), Created: now, Changed: now,
					Fields: []storage.SakeField{
						{Name: "name", Value: storage.SakeValue{Type: storage.SakeUnicode, Text: fmt.Appendf(nil, "player %d", i)}},
						{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(i*7919) % 100_003}},
						{Name: "level", Value: storage.SakeValue{Type: storage.SakeByte, Num: int64(i % 100)}},
						{Name: "ratio", Value: storage.SakeFloatValue(float32(i) / 3)},
						{Name: "data", Value: storage.SakeValue{Type: storage.SakeBinary, Text: make([]byte, 64)}},
					},
				}
				key := sakeRecordKey(1, rec.ID)
				if err := records.Put(key, sealSakeRow(key, &rec, []uint32{0, 1, 2, 3, 4})); err != nil {
					return err
				}
				if err := c.putEntry(bucketSakeByOwner, sakeByOwnerKey(rec.Owner, 1, rec.ID), nil); err != nil {
					return err
				}
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
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openBench(b, Options{NoSync: true})
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
	s := openBench(b, Options{NoSync: true})
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
	s := openBench(b, Options{NoSync: true})
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
