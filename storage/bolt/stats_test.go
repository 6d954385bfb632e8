package bolt

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/respawnd/respawnd/storage"
)

// statsStore returns a store with 30 profiles, each with a block and a score, and as
// many reports.
func statsStore(t *testing.T) *Store {
	t.Helper()
	s := openLoose(t)
	for i := range 30 {
		_, _, err := s.CreateUser(t.Context(), storage.User{Email: fmt.Sprintf("%d@b.c", i)}, storage.Profile{Nick: "A"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := fillStats(t.Context(), s, time.Now()); err != nil {
		t.Fatal(err)
	}
	return s
}

var damagedValue = []byte{recordVersion, 1, 2, 3, 4, 5, 6, 7, 8, 9}

func TestDamagedStats(t *testing.T) {
	s := statsStore(t)
	block := storage.StatBlockID{Game: "gmtest", Profile: 1, Kind: storage.StatPublicWrite}
	score := storage.ScoreID{Game: "gmtest", Board: "kills", Profile: 1}
	overwrite(t, s, damagedValue, statBlockKey(block), bucketStatBlocks)
	overwrite(t, s, damagedValue, scoreKey(score), bucketScores)
	overwrite(t, s, damagedValue, reportKey(1), bucketReports)

	_, get := s.GetStatBlock(t.Context(), block)
	_, set := s.EditStatBlock(t.Context(), block, 1000, time.Now(), func([]byte) ([]byte, error) { return nil, nil })
	_, rank := s.RankOf(t.Context(), score)
	_, report := s.GetReport(t.Context(), 1)
	_, page := s.Ranking(t.Context(), "gmtest", "kills", 29, 1)
	for name, err := range map[string]error{"GetStatBlock": get, "EditStatBlock": set, "RankOf": rank, "GetReport": report, "Ranking": page} {
		if !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%s() = %v, want ErrDamaged", name, err)
		}
	}
	if _, err := s.GetStatBlock(t.Context(), storage.StatBlockID{Game: "gmtest", Profile: 2, Kind: storage.StatPublicWrite, Index: 1}); err != nil {
		t.Errorf("GetStatBlock() of another = %v", err)
	}

	// Damaged records can be deleted, with their places in the indexes.
	if err := s.DeleteReport(t.Context(), 1); err != nil {
		t.Errorf("DeleteReport() = %v", err)
	}
	if err := s.DeleteUser(t.Context(), 1); err != nil {
		t.Errorf("DeleteUser() = %v", err)
	}
	if scores, err := s.Ranking(t.Context(), "gmtest", "kills", 0, 100); len(scores) != 29 || err != nil {
		t.Errorf("Ranking() has %d scores, %v, want 29", len(scores), err)
	}
	if got := len(collectReports(t, s)); got != 29 {
		t.Errorf("%d reports are left, want 29", got)
	}
	for _, bucket := range []string{bucketReportsOf, bucketReportRuns, bucketRanks} {
		if n := keysIn(t, s, bucket); n != 29 {
			t.Errorf("%s has %d keys, want 29", bucket, n)
		}
	}
	if totals, err := s.StatTotals(t.Context()); err != nil || totals.Blocks != 29 || totals.Reports != 29 {
		t.Errorf("StatTotals() = %+v, %v, want 29 blocks and reports", totals, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Verify(s.path); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}

// A damaged report that is the oldest does not prevent further ones.
func TestDamagedReportIsDropped(t *testing.T) {
	s := statsStore(t)
	overwrite(t, s, damagedValue, reportKey(1), bucketReports)
	got, err := s.PutReport(t.Context(), storage.Report{Game: "gmtest", Conn: 99}, nil, storage.ReportLimits{PerGame: 30})
	if got.Dropped != 1 || err != nil {
		t.Errorf("PutReport() = %+v, %v, want one report dropped", got, err)
	}
}

func collectReports(t *testing.T, s *Store) (all []storage.Report) {
	t.Helper()
	for r, err := range s.Reports(t.Context(), "gmtest", 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// keysIn returns the number of keys in a bucket.
func keysIn(t *testing.T, s *Store, bucket string) (n int) {
	t.Helper()
	err := s.view(t.Context(), func(tx *bbolt.Tx) error {
		n = tx.Bucket([]byte(bucket)).Stats().KeyN
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
