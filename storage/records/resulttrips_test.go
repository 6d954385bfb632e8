package records

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// The number of round trips does not grow with the records that a step reads, apart from
// pages.
func TestResultTrips(t *testing.T) {
	eng := &trips{}
	s := openIn(t, eng, Options{Shared: true})
	ids := manyProfiles(t, s)
	if err := fillStats(t.Context(), s, ids, time.Now()); err != nil {
		t.Fatal(err)
	}
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	for i := range 100 {
		if _, err := s.CreateSakeRecord(t.Context(), table, ids[i%len(ids)], sakeFields(i), storage.SakeLimits{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RateSakeRecord(t.Context(), table, uint32(i+1), ids[0], 5); err != nil {
			t.Fatal(err)
		}
	}
	match := storage.Match{Game: "gmtest", Session: "01234567-89ab-cdef-0123-456789abcdef", Outcome: storage.MatchOpen}
	for range 16 {
		match.Sides = append(match.Sides, storage.MatchSide{Profile: ids[len(match.Sides)]})
	}
	credits := func(n int) (all []storage.Credit) {
		for i := range n {
			all = append(all, storage.Credit{ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: ids[i]}, How: storage.ScoreSum, Value: 1})
		}
		return all
	}
	block := storage.StatBlockID{Game: "gmtest", Profile: ids[1], Kind: storage.StatPublicWrite}
	all := storage.SakeLimits{PerOwner: 1e6, OwnerTotal: 1e4, OwnerBytes: 1e9, Tables: 100, PerGame: 1e6, Total: 1e6, TotalBytes: 1e9}
	var ratings []uint32
	for i := range 100 {
		ratings = append(ratings, uint32(i+1))
	}
	for _, test := range []struct {
		name string
		most int64
		call func(context.Context) error
	}{
		{"EditStatBlock", 2, func(ctx context.Context) error {
			_, err := s.EditStatBlock(ctx, block, 1e6, time.Now(), func([]byte) ([]byte, error) { return make([]byte, 99), nil })
			return err
		}},
		{"GetStatBlock", 1, func(ctx context.Context) error { _, err := s.GetStatBlock(ctx, block); return err }},
		{"StatBlocks", 1, func(ctx context.Context) error { return drain(s.StatBlocks(ctx, ids[1])) }},
		{"PutReport", 2, func(ctx context.Context) error {
			_, err := s.PutReport(ctx, storage.Report{Game: "gmtest", Conn: 777}, nil, storage.ReportLimits{})
			return err
		}},
		{"PutReport of a report that is there", 3, func(ctx context.Context) error {
			_, err := s.PutReport(ctx, storage.Report{Game: "gmtest", Conn: 777}, nil, storage.ReportLimits{PerGame: 1e6})
			return err
		}},
		{"PutReport with 10 credits", 4, func(ctx context.Context) error {
			r := storage.Report{Game: "gmtest", Conn: 778, Done: true, Trusted: true}
			got, err := s.PutReport(ctx, r, credits(10), storage.ReportLimits{})
			if got.Credited != 10 {
				t.Errorf("PutReport() = %+v, want 10 credits", got)
			}
			return err
		}},
		{"Reports", 2, func(ctx context.Context) error { return drain(s.Reports(ctx, "gmtest", 0)) }},
		{"PutScore", 4, func(ctx context.Context) error {
			return s.PutScore(ctx, storage.Score{ScoreID: credits(1)[0].ScoreID, Value: 5.5})
		}},
		{"RankOf", 3, func(ctx context.Context) error { _, err := s.RankOf(ctx, credits(1)[0].ScoreID); return err }},
		{"Ranking", 5, func(ctx context.Context) error { _, err := s.Ranking(ctx, "gmtest", "kills", 3, 20); return err }},
		{"PutMatch", 2, func(ctx context.Context) (err error) { match, err = s.PutMatch(ctx, match, nil, 100); return err }},
		{"MatchesOf", 2, func(ctx context.Context) error { return drain(s.MatchesOf(ctx, ids[0])) }},
		{"Matches", 2, func(ctx context.Context) error { return drain(s.Matches(ctx, "gmtest", 0)) }},
		{"CreateSakeRecord", 5, func(ctx context.Context) error {
			_, err := s.CreateSakeRecord(ctx, table, ids[0], sakeFields(1), all)
			return err
		}},
		{"UpdateSakeRecord of the same size", 3, func(ctx context.Context) error {
			return s.UpdateSakeRecord(ctx, table, 1, ids[0], sakeFields(0), all)
		}},
		{"RateSakeRecord", 4, func(ctx context.Context) error { _, err := s.RateSakeRecord(ctx, table, 1, ids[1], 5); return err }},
		{"DeleteSakeRecord", 4, func(ctx context.Context) error { return s.DeleteSakeRecord(ctx, table, 2, 0) }},
		{"SakeRecords", 2, func(ctx context.Context) error { _, err := s.SakeRecords(ctx, table, ratings); return err }},
		{"SakeRatings", 2, func(ctx context.Context) error { _, err := s.SakeRatings(ctx, table, ids[0], ratings); return err }},
		{"ScanSake with ratings", 3, func(ctx context.Context) error {
			return s.ScanSake(ctx, table, storage.SakeScan{Rater: ids[0]}, func(*storage.SakeRow) bool { return true })
		}},
		{"ScanSake of an owner", 3, func(ctx context.Context) error {
			return s.ScanSake(ctx, table, storage.SakeScan{Owners: ids[:1]}, func(*storage.SakeRow) bool { return true })
		}},
		{"SakeTables", 2, func(ctx context.Context) error { return drain(s.SakeTables(ctx, "")) }},
		{"SakeOf", 3, func(ctx context.Context) error { return drain(s.SakeOf(ctx, ids[0])) }},
		{"DeleteSakeTable", 5, func(ctx context.Context) error { _, err := s.DeleteSakeTable(ctx, table); return err }},
		{"SweepSake", 2 + 100*2, func(ctx context.Context) error { _, err := s.SweepSake(ctx); return err }},
	} {
		before := eng.n.Load()
		if err := test.call(storage.WithoutAudit(t.Context())); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		n := eng.n.Load() - before
		t.Logf("%s: %d", test.name, n)
		if n > test.most || n == 0 {
			t.Errorf("%s makes %d round trips, want 1 to %d", test.name, n, test.most)
		}
	}
}

// drain reads a sequence to its end and returns its first error.
func drain[R any](all iter.Seq2[R, error]) (first error) {
	for _, err := range all {
		if first == nil {
			first = err
		}
	}
	return first
}
