package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/racetest"
	"github.com/respawnd/respawnd/storage"
)

// twoNodes opens one database twice.
func twoNodes(t *testing.T) [2]*Store {
	t.Helper()
	url := emptyDatabase(t)
	return [2]*Store{openAt(t, url, testOptions()), openAt(t, url, testOptions())}
}

// addPlayers creates profiles.
func addPlayers(tb testing.TB, s *Store, n int) (ids []storage.ProfileID) {
	tb.Helper()
	for i := range n {
		_, p, err := s.CreateUser(tb.Context(), storage.User{Email: fmt.Sprintf("%d@example.com", i)}, storage.Profile{Nick: "Nick"})
		if err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	return ids
}

// atOnce calls f n times at once, in turn with each of the stores, and returns how many
// calls succeeded. Their errors must match refusal.
func atOnce(t *testing.T, nodes [2]*Store, n int, refusal error, f func(s *Store, i int) error) (succeeded int) {
	t.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(nodes[i%2], i)
		})
	}
	close(start)
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
			succeeded++
		case refusal == nil || !errors.Is(err, refusal):
			t.Errorf("call %d: %v, want nil or %v", i, err, refusal)
		}
	}
	return succeeded
}

// sqlWrongSums are statements that find stored sums that differ from the sum of their
// rows.
var sqlWrongSums = map[string]string{
	"stat_sizes": `SELECT profile FROM stat_sizes AS s WHERE
		blocks <> (SELECT count(*) FROM stat_blocks WHERE profile = s.profile)
		OR bytes <> (SELECT coalesce(sum(length(data)), 0) FROM stat_blocks WHERE profile = s.profile)
		OR scores <> (SELECT count(*) FROM scores WHERE profile = s.profile)`,
	"stat_totals": `SELECT 1 WHERE (SELECT (sum(blocks), sum(bytes)) FROM stat_totals)
		<> (SELECT (count(*)::numeric, coalesce(sum(length(data)), 0)::numeric) FROM stat_blocks)`,
	"score_chunks": `SELECT c.game FROM (
			SELECT *, lead(down, 1, 'Infinity') OVER w AS end_down, lead(profile, 1, 0) OVER w AS end_profile
			FROM score_chunks WINDOW w AS (PARTITION BY game, board ORDER BY down, profile)) AS c
		WHERE n <> (SELECT count(*) FROM scores AS s WHERE s.game = c.game AND s.board = c.board
			AND (s.down, s.profile) >= (c.down, c.profile) AND (s.down, s.profile) < (end_down, end_profile))`,
	"report_totals": `SELECT 1 FROM report_totals WHERE reports <> (SELECT count(*) FROM reports)
		OR bytes <> (SELECT coalesce(sum(size), 0) FROM reports)`,
	"report_games": `SELECT game FROM report_games AS g WHERE reports <> (SELECT count(*) FROM reports WHERE game = g.game)`,
	"match_games":  `SELECT game FROM match_games AS g WHERE matches <> (SELECT count(*) FROM matches WHERE game = g.game)`,
	"sake_tables": `SELECT number FROM sake_tables WHERE (records, bytes)
		<> (SELECT count(*), coalesce(sum(40 + length(fields)), 0) FROM sake_records WHERE table_no = number)`,
	"sake_owned": `SELECT owner FROM sake_owned AS o WHERE (records, bytes)
		<> (SELECT count(*), coalesce(sum(40 + length(fields)), 0) FROM sake_records AS r WHERE r.owner = o.owner AND r.table_no = o.table_no)`,
	"sake_owners": `SELECT owner FROM sake_owners AS o WHERE (records, bytes)
		<> (SELECT count(*), coalesce(sum(40 + length(fields)), 0) FROM sake_records AS r WHERE r.owner = o.owner)`,
	"sake_games": `SELECT game FROM sake_games AS g WHERE
		tables <> (SELECT count(*) FROM sake_tables AS t WHERE t.game = g.game AND live)
		OR records <> (SELECT count(*) FROM sake_records JOIN sake_tables AS t ON number = table_no WHERE t.game = g.game)`,
	"sake_totals": `SELECT 1 FROM sake_totals WHERE (records, bytes)
		<> (SELECT count(*), coalesce(sum(40 + length(fields)), 0) FROM sake_records)`,
	"sake_records": `SELECT id FROM sake_records AS r WHERE (ratings, rating_sum)
		<> (SELECT count(*), coalesce(sum(rating), 0) FROM sake_ratings AS a WHERE a.table_no = r.table_no AND a.id = r.id)`,
	"file_usage": `SELECT owner FROM file_usage AS u WHERE (files, bytes)
		<> (SELECT count(*), coalesce(sum(size), 0) FROM files AS f WHERE f.owner = u.owner)`,
	"file_totals": `SELECT 1 FROM file_totals WHERE (files, bytes) <> (SELECT count(*), coalesce(sum(size), 0) FROM files)`,
	"table_sizes": `SELECT name FROM table_sizes WHERE rows <> CASE name
		WHEN 'motds' THEN (SELECT count(*) FROM motds) WHEN 'patches' THEN (SELECT count(*) FROM patches)
		WHEN 'product_keys' THEN (SELECT count(*) FROM product_keys) ELSE (SELECT count(*) FROM chat_rules) END`,
	"orphans": `SELECT 1 FROM match_players AS m WHERE NOT EXISTS (SELECT FROM profiles WHERE id = m.profile)
		UNION ALL SELECT 1 FROM stat_sizes AS s WHERE NOT EXISTS (SELECT FROM profiles WHERE id = s.profile)`,
}

// checkSums checks all stored sums against their rows.
func checkSums(t *testing.T, s *Store) {
	t.Helper()
	for name, sql := range sqlWrongSums {
		var wrong int
		err := s.read(t.Context(), func(ctx context.Context, q querier) error {
			return q.QueryRow(ctx, `SELECT count(*) FROM (`+sql+`) AS x`).Scan(&wrong)
		})
		if wrong != 0 || err != nil {
			t.Errorf("%s has %d wrong sums, %v", name, wrong, err)
		}
	}
}

// TestQuotasOfTwoNodes checks that limits hold for changes of several nodes at once.
func TestQuotasOfTwoNodes(t *testing.T) {
	nodes := twoNodes(t)
	ids := addPlayers(t, nodes[0], 3)
	const tries, most = 24, 5
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	for name, f := range map[string]func(s *Store, i int) error{
		"bytes of blocks": func(s *Store, i int) error {
			id := storage.StatBlockID{Game: "gmtest", Profile: ids[0], Kind: storage.StatPublicWrite, Index: int32(i)}
			_, err := s.EditStatBlock(t.Context(), id, 10*most+9, time.Now(), func([]byte) ([]byte, error) { return make([]byte, 10), nil })
			return err
		},
		"files of all": func(s *Store, i int) error {
			f := storage.File{Game: "gmtest", Owner: ids[i%len(ids)], Size: 10, Hash: strings.Repeat("a", 64), Created: time.Now()}
			_, err := s.CreateFile(t.Context(), f, storage.FileUsage{Files: tries, Bytes: 1 << 20}, storage.FileUsage{Files: most, Bytes: 1 << 20})
			return err
		},
		"SAKE records of all": func(s *Store, i int) error {
			_, err := s.CreateSakeRecord(t.Context(), table, ids[i%len(ids)], nil, storage.SakeLimits{Total: most})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if n := atOnce(t, nodes, tries, storage.ErrFull, f); n != most {
				t.Errorf("%d of %d succeeded, want %d", n, tries, most)
			}
		})
	}
	checkSums(t, nodes[1])
}

// TestRatingsOfTwoNodes checks that ratings are given once, and that the ids of records
// have no gaps.
func TestRatingsOfTwoNodes(t *testing.T) {
	nodes := twoNodes(t)
	ids := addPlayers(t, nodes[0], 6)
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	var seen sync.Map
	atOnce(t, nodes, 20, nil, func(s *Store, i int) error {
		// Every record brings another column.
		fields := []storage.SakeField{{Name: fmt.Sprint("f", i), Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(i)}}}
		id, err := s.CreateSakeRecord(t.Context(), table, ids[0], fields, storage.SakeLimits{})
		if _, twice := seen.LoadOrStore(id, true); twice || id > 20 {
			t.Errorf("id %d", id)
		}
		return err
	})
	n := atOnce(t, nodes, 24, storage.ErrTaken, func(s *Store, i int) error {
		_, err := s.RateSakeRecord(t.Context(), table, 1, ids[i/4], 10)
		return err
	})
	all, err := nodes[1].SakeRecords(t.Context(), table, []uint32{1})
	if n != 6 || err != nil || all[0].Ratings != 6 || all[0].RatingSum != 60 {
		t.Errorf("%d ratings succeeded: %+v, %v", n, all, err)
	}
	atOnce(t, nodes, 20, nil, func(s *Store, i int) error {
		fields := []storage.SakeField{{Name: fmt.Sprint("g", i%10), Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(i)}}}
		return s.UpdateSakeRecord(t.Context(), table, uint32(i%4+1), 0, fields, storage.SakeLimits{})
	})
	columns, err := nodes[0].GetSakeTable(t.Context(), table)
	if err != nil || len(columns.Columns) != 30 {
		t.Errorf("the table has %d columns, %v, want 30", len(columns.Columns), err)
	}
	checkSums(t, nodes[0])
}

// TestCreditsOfTwoNodes checks that the credits of a game are applied once, on whatever
// nodes it is reported.
func TestCreditsOfTwoNodes(t *testing.T) {
	nodes := twoNodes(t)
	ids := addPlayers(t, nodes[0], 4)
	credits := make([]storage.Credit, 0, 2*len(ids))
	for i := range ids {
		for _, how := range []storage.ScoreRule{storage.ScoreSum, storage.ScoreMax} {
			id := storage.ScoreID{Game: "gmtest", Board: fmt.Sprint("board", how), Profile: ids[(i+int(how))%len(ids)]}
			credits = append(credits, storage.Credit{ScoreID: id, How: how, Value: 2})
		}
	}
	const games, nodesEach = 6, 4
	var mu sync.Mutex
	credited := 0
	atOnce(t, nodes, games*nodesEach, nil, func(s *Store, i int) error {
		r := storage.Report{Game: "gmtest", Conn: uint64(i % games), Done: true, Trusted: true, Started: time.Now(), Updated: time.Now()}
		result, err := s.PutReport(t.Context(), r, credits, storage.ReportLimits{})
		mu.Lock()
		defer mu.Unlock()
		credited += result.Credited
		return err
	})
	if want := games * len(credits); credited != want {
		t.Errorf("%d credits were applied, want %d", credited, want)
	}
	m, err := nodes[0].PutMatch(t.Context(), storage.Match{
		Game: "gmtest", Session: "11111111-1111-1111-1111-111111111111", Outcome: storage.MatchOpen, First: time.Now(),
		Sides: []storage.MatchSide{{Profile: ids[0]}},
	}, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	m.Outcome, m.Settled = storage.MatchAgreed, time.Now()
	atOnce(t, nodes, 8, nil, func(s *Store, _ int) error {
		_, err := s.PutMatch(t.Context(), m, credits, 100)
		return err
	})
	for _, id := range ids {
		score, err := nodes[1].RankOf(t.Context(), storage.ScoreID{Game: "gmtest", Board: "board1", Profile: id})
		if want := float64(2 * (games + 1)); err != nil || score.Value != want || score.Rank != 1 {
			t.Errorf("score of %d: %+v, %v, want %v", id, score, err, want)
		}
	}
	checkSums(t, nodes[0])
}

// TestEditsOfTwoNodes checks that no edit of a block is lost.
func TestEditsOfTwoNodes(t *testing.T) {
	nodes := twoNodes(t)
	id := storage.StatBlockID{Game: "gmtest", Profile: addPlayers(t, nodes[0], 1)[0], Kind: storage.StatPublicWrite}
	const edits = 40
	atOnce(t, nodes, edits, nil, func(s *Store, _ int) error {
		_, err := s.EditStatBlock(t.Context(), id, storage.MaxStatBytes, time.Unix(1e9, 0), func(old []byte) ([]byte, error) {
			return append(bytes.Clone(old), 'x'), nil
		})
		return err
	})
	b, err := nodes[0].GetStatBlock(t.Context(), id)
	if err != nil || len(b.Data) != edits || b.Modified.Unix() != 1e9+edits-1 {
		t.Errorf("after %d edits: %d bytes of %v, %v", edits, len(b.Data), b.Modified, err)
	}
	checkSums(t, nodes[0])
}

// TestPlayersComeAndGo makes changes of all kinds from two nodes while profiles are
// deleted, and checks the sums.
func TestPlayersComeAndGo(t *testing.T) {
	racetest.Skip(t, "makes many changes")
	nodes := twoNodes(t)
	ids := addPlayers(t, nodes[0], 24)
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	gone := []error{storage.ErrNotFound, storage.ErrNotOwner, storage.ErrTaken}
	change := func(s *Store, r *rand.Rand, i int) error {
		p := ids[r.IntN(len(ids))]
		score := storage.ScoreID{Game: "gmtest", Board: fmt.Sprint("b", r.IntN(3)), Profile: p}
		switch r.IntN(13) {
		case 0, 1:
			return s.PutScore(t.Context(), storage.Score{ScoreID: score, Value: float64(r.IntN(50))})
		case 2:
			return s.DeleteScore(t.Context(), score)
		case 3, 4:
			id := storage.StatBlockID{Game: "gmtest", Profile: p, Kind: storage.StatPublicWrite, Index: int32(r.IntN(4))}
			data := make([]byte, r.IntN(100))
			_, err := s.EditStatBlock(t.Context(), id, storage.MaxStatBytes, time.Now(), func([]byte) ([]byte, error) { return data, nil })
			return err
		case 5, 6:
			fields := []storage.SakeField{{Name: fmt.Sprint("f", r.IntN(9)), Value: storage.SakeValue{Type: storage.SakeUnicode, Text: make([]byte, r.IntN(99))}}}
			_, err := s.CreateSakeRecord(t.Context(), table, p, fields, storage.SakeLimits{})
			return err
		case 7:
			return s.UpdateSakeRecord(t.Context(), table, uint32(r.IntN(60)), 0,
				[]storage.SakeField{{Name: "x", Value: storage.SakeValue{Type: storage.SakeBinary, Text: make([]byte, r.IntN(99))}}}, storage.SakeLimits{})
		case 8:
			return s.DeleteSakeRecord(t.Context(), table, uint32(r.IntN(60)), 0)
		case 9:
			_, err := s.CreateFile(t.Context(), storage.File{Game: "gmtest", Owner: p, Size: int64(r.IntN(99)), Hash: strings.Repeat("a", 64), Created: time.Now()},
				storage.FileUsage{Files: 99, Bytes: 1 << 20}, storage.FileUsage{Files: 999, Bytes: 1 << 20})
			return err
		case 10:
			_, err := s.PutMatch(t.Context(), storage.Match{
				Game: "gmtest", Session: "11111111-1111-1111-1111-111111111111", Outcome: storage.MatchAgreed, First: time.Now(),
				Sides: []storage.MatchSide{{Profile: p}, {Profile: ids[r.IntN(len(ids))]}},
			}, []storage.Credit{{ScoreID: score, How: storage.ScoreSum, Value: 1}}, 5)
			return err
		case 11:
			_, err := s.PutReport(t.Context(), storage.Report{Game: fmt.Sprint("g", r.IntN(3)), Conn: uint64(i), Done: true, Trusted: true, Pairs: make([]byte, r.IntN(99))},
				[]storage.Credit{{ScoreID: score, How: storage.ScoreMax, Value: float64(r.IntN(60))}}, storage.ReportLimits{PerGame: 4, Bytes: 3000})
			return err
		default:
			if r.IntN(4) > 0 {
				_, err := s.RateSakeRecord(t.Context(), table, uint32(r.IntN(60)), p, r.IntN(256))
				return err
			}
			profile, err := s.GetProfile(t.Context(), p)
			if err != nil {
				return err
			}
			return s.DeleteUser(t.Context(), profile.User)
		}
	}
	var wg sync.WaitGroup
	for worker := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(worker, 1)) // the same numbers every time
			for i := range 80 {
				err := change(nodes[worker%2], r, int(worker)*80+i)
				expected := err == nil
				for _, want := range gone {
					expected = expected || errors.Is(err, want)
				}
				if !expected {
					t.Errorf("change %d of worker %d: %v", i, worker, err)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range []error{errOf(nodes[0].SweepSake(t.Context())), errOf(nodes[1].DeleteSakeTable(t.Context(), table))} {
		if err != nil {
			t.Error(err)
		}
	}
	checkSums(t, nodes[0])
}

func errOf[R any](_ R, err error) error { return err }
