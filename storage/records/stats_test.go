package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/engine"
)

// manyProfiles makes 30 profiles and returns their ids.
func manyProfiles(tb testing.TB, s *Store) (ids []storage.ProfileID) {
	tb.Helper()
	for i := range 30 {
		_, p, err := s.CreateUser(tb.Context(), storage.User{Email: fmt.Sprintf("%d@b.c", i)}, storage.Profile{Nick: "A"})
		if err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	return ids
}

// fillStats gives every profile a block and a score, and stores as many reports.
func fillStats(ctx context.Context, s *Store, ids []storage.ProfileID, now time.Time) (err error) {
	for i, id := range ids {
		block := storage.StatBlockID{Game: "gmtest", Profile: id, Kind: storage.StatPublicWrite, Index: int32(i)}
		_, set := s.EditStatBlock(ctx, block, 1000, now, func([]byte) ([]byte, error) { return make([]byte, 200), nil })
		_, put := s.PutReport(ctx, storage.Report{Game: "gmtest", Conn: uint64(i), Started: now, Updated: now, Pairs: make([]byte, 200)}, nil, storage.ReportLimits{})
		err = errors.Join(err, set, put, s.PutScore(ctx, storage.Score{
			ScoreID: storage.ScoreID{Game: "gmtest", Board: "kills", Profile: id}, Value: float64(i), Updated: now,
		}))
	}
	return err
}

// statsStore returns a store with 30 profiles, each with a block and a score, and as
// many reports.
func statsStore(t *testing.T) *Store {
	t.Helper()
	s := openNew(t)
	if err := fillStats(t.Context(), s, manyProfiles(t, s), time.Now()); err != nil {
		t.Fatal(err)
	}
	return s
}

var damagedValue = []byte{recordVersion, 1, 2, 3, 4, 5, 6, 7, 8, 9}

func TestDamagedStats(t *testing.T) {
	s := statsStore(t)
	block := storage.StatBlockID{Game: "gmtest", Profile: 1, Kind: storage.StatPublicWrite}
	score := storage.ScoreID{Game: "gmtest", Board: "kills", Profile: 1}
	damage(t, s, tableStatBlocks, statBlockKey(block), damagedValue)
	damage(t, s, tableScores, scoreKey(score), damagedValue)
	damage(t, s, tableReports, numberKey(1), damagedValue)

	_, get := s.GetStatBlock(t.Context(), block)
	_, set := s.EditStatBlock(t.Context(), block, 1000, time.Now(), func([]byte) ([]byte, error) { return nil, nil })
	_, rank := s.RankOf(t.Context(), score)
	_, report := s.GetReport(t.Context(), 1)
	_, page := s.Ranking(t.Context(), "gmtest", "kills", 29, 1)
	for name, err := range map[string]error{"GetStatBlock": get, "EditStatBlock": set, "RankOf": rank, "GetReport": report, "Ranking": page} {
		if !isDamage(err) {
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
	for _, table := range []engine.Table{tableReportsOf, tableReportRuns, tableRanks} {
		if n := size(t, s, table); n != 29 {
			t.Errorf("%s has %d keys, want 29", table, n)
		}
	}
	if totals, err := s.StatTotals(t.Context()); err != nil || totals.Blocks != 29 || totals.Reports != 29 {
		t.Errorf("StatTotals() = %+v, %v, want 29 blocks and reports", totals, err)
	}
}

// A damaged report that is the oldest does not prevent further ones.
func TestDamagedReportIsDropped(t *testing.T) {
	s := statsStore(t)
	damage(t, s, tableReports, numberKey(1), damagedValue)
	got, err := s.PutReport(t.Context(), storage.Report{Game: "gmtest", Conn: 99}, nil, storage.ReportLimits{PerGame: 30})
	if got.Dropped != 1 || err != nil {
		t.Errorf("PutReport() = %+v, %v, want one report dropped", got, err)
	}
}

// An entry of an index whose record is missing is damage, and does not end the list.
func TestReportIsMissing(t *testing.T) {
	s := statsStore(t)
	if err := s.eng.Update(t.Context(), func(tx engine.Tx) error { return tx.Delete(tableReports, numberKey(5)) }); err != nil {
		t.Fatal(err)
	}
	n, errs := 0, []error(nil)
	for _, err := range s.Reports(t.Context(), "gmtest", 0) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		n++
	}
	if n != 29 || len(errs) != 1 || !isDamage(errs[0]) {
		t.Errorf("Reports() yields %d reports and %v, want 29 and one ErrDamaged", n, errs)
	}
}

func TestDamagedMatchCanBeDeleted(t *testing.T) {
	s := statsStore(t)
	for range 3 {
		m := storage.Match{Game: "gmtest", Session: "01234567-89ab-cdef-0123-456789abcdef", Outcome: storage.MatchOpen, Sides: []storage.MatchSide{{Profile: 1}, {Profile: 2}}}
		if _, err := s.PutMatch(t.Context(), m, nil, 10); err != nil {
			t.Fatal(err)
		}
	}
	damage(t, s, tableMatches, numberKey(2), damagedValue)
	if err := s.DeleteMatch(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[engine.Table]int{tableMatches: 2, tableMatchesOf: 2, tableMatchesOpen: 2, tableMatchPlayers: 4} {
		if n := size(t, s, table); n != want {
			t.Errorf("%s has %d keys, want %d", table, n, want)
		}
	}
}

// The chunks of a ranking count its places, whatever happens to scores.
func TestRankingChunksCount(t *testing.T) {
	s := openNew(t)
	const n = 3 * maxChunk
	id := func(i int) storage.ScoreID {
		return storage.ScoreID{Game: "gmtest", Board: "kills", Profile: storage.ProfileID(i)}
	}
	err := s.change(t.Context(), func(c *change) error {
		board := rankingOf(c.view, "gmtest", "kills")
		for i := range n {
			board.add(c, placeOf(float64(i), id(i).Profile))
		}
		for i := range n { // within a chunk, to another one, and away
			from := placeOf(float64(i), id(i).Profile)
			board.move(c, from, placeOf(float64(i)+0.5, id(i).Profile))
			switch i % 3 {
			case 1:
				board.move(c, placeOf(float64(i)+0.5, id(i).Profile), placeOf(float64(n-i)+0.25, id(i).Profile))
			case 2:
				board.remove(c, placeOf(float64(i)+0.5, id(i).Profile))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.view(t.Context(), func(v *view) error {
		board := rankingOf(v, "gmtest", "kills")
		parts := slices.Collect(board.chunks(whole(tableRankChunks)))
		for i, part := range parts {
			var end []byte
			if i+1 < len(parts) {
				end = parts[i+1].first
			}
			places := 0
			for range board.places(part.first, end, 0) {
				places++
			}
			if places != part.n || places > maxChunk {
				t.Errorf("chunk %d has %d places and counts %d", i, places, part.n)
			}
		}
		if len(parts) < 3 {
			t.Errorf("%d chunks, want several", len(parts))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := size(t, s, tableRanks); got != n-n/3 {
		t.Errorf("%d places, want %d", got, n-n/3)
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
