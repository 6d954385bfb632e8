package postgres

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// The benchmarks are those of storage/bolt. The server of the tests does not wait for the
// disk.

// openBench returns a store with profiles 1 to n.
func openBench(b *testing.B, profiles int) *Store {
	b.Helper()
	s := openAt(b, emptyDatabase(b), Options{MaxConns: 16, StatementTimeout: 5 * time.Minute})
	runSQL(b, s.pool.Config().ConnString(), fmt.Sprintf(`INSERT INTO users (id, partner, email, rev, doc)
		SELECT i, 0, i || '@example.com', i, '{}' FROM generate_series(1, %[1]d) AS i;
		INSERT INTO profiles (id, user_id, nick, first_name, last_name, icq, rev, doc)
		SELECT i, i, 'nick', '', '', 0, i, '{}' FROM generate_series(1, %[1]d) AS i; ANALYZE`, profiles))
	return s
}

// share runs f b.N times from so many goroutines.
func share(b *testing.B, clients int, f func(n int) error) {
	b.Helper()
	var n atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				if err := f(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// each runs benchmarks of one operation, from 1 and from 16 clients.
func each(b *testing.B, operations map[string]func(n int) error) {
	b.Helper()
	for name, f := range operations {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", name, clients), func(b *testing.B) { share(b, clients, f) })
		}
	}
}

func benchBlock(p storage.ProfileID, index int) storage.StatBlockID {
	return storage.StatBlockID{Game: "gmtest", Profile: p, Kind: storage.StatPublicWrite, Index: int32(index)}
}

func BenchmarkBlocks(b *testing.B) {
	const profiles = 64
	s := openBench(b, profiles)
	for _, size := range []int{256, 64 << 10} {
		data := make([]byte, size)
		id := func(n int) storage.StatBlockID { return benchBlock(storage.ProfileID(n%profiles+1), size) }
		set := func(n int) error {
			_, err := s.EditStatBlock(context.Background(), id(n), storage.MaxStatBytes, time.Now(), func([]byte) ([]byte, error) { return data, nil })
			return err
		}
		for n := range profiles {
			if err := set(n); err != nil {
				b.Fatal(err)
			}
		}
		each(b, map[string]func(int) error{
			fmt.Sprint("set/", size): set,
			fmt.Sprint("get/", size): func(n int) error { _, err := s.GetStatBlock(context.Background(), id(n)); return err },
		})
	}
}

// BenchmarkRanking reads pages and ranks of boards with 10,000 and 1,000,000 players.
func BenchmarkRanking(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openBench(b, n)
			runSQL(b, s.pool.Config().ConnString(), fmt.Sprintf(`INSERT INTO stat_sizes (profile, scores) SELECT i, 1 FROM generate_series(1, %[1]d) AS i;
				INSERT INTO scores (profile, game, board, down, updated)
				SELECT i, 'gmtest', 'kills', -(i::bigint * 7919 %% %[1]d), '2026-01-01T00:00:00Z' FROM generate_series(1, %[1]d) AS i;
				INSERT INTO score_chunks (game, board, down, profile, n) VALUES ('gmtest', 'kills', '-Infinity', 0, %[1]d); ANALYZE`, n))
			whole := chunk{game: "gmtest", board: "kills", down: math.Inf(-1), n: int64(n)}
			s.arrange(b.Context(), []chunk{whole})
			score := func(i int) storage.ScoreID {
				return storage.ScoreID{Game: "gmtest", Board: "kills", Profile: storage.ProfileID(i%n + 1)}
			}
			each(b, map[string]func(int) error{
				"rank":  func(i int) error { _, err := s.RankOf(context.Background(), score(i)); return err },
				"first": func(int) error { _, err := s.Ranking(context.Background(), "gmtest", "kills", 0, 50); return err },
				"last":  func(int) error { _, err := s.Ranking(context.Background(), "gmtest", "kills", n-50, 50); return err },
				"put": func(i int) error {
					return s.PutScore(context.Background(), storage.Score{ScoreID: score(i), Value: float64(i * 31 % n)})
				},
			})
		})
	}
}

// BenchmarkReports stores final reports of games with credits for 8 players.
func BenchmarkReports(b *testing.B) {
	const profiles = 64
	s := openBench(b, profiles)
	var conn atomic.Uint64
	each(b, map[string]func(int) error{"put": func(n int) error {
		var credits []storage.Credit
		for i := range 8 {
			id := storage.ScoreID{Game: "gmtest", Board: "kills", Profile: storage.ProfileID((n*8+i)%profiles + 1)}
			credits = append(credits, storage.Credit{ScoreID: id, How: storage.ScoreSum, Value: 1})
		}
		r := storage.Report{Game: "gmtest", Conn: conn.Add(1), Done: true, Trusted: true, Pairs: make([]byte, 2000)}
		_, err := s.PutReport(context.Background(), r, credits, storage.ReportLimits{PerGame: 1000, Bytes: 1 << 30})
		return err
	}})
}

// fillSake stores a table of n records, of which every profile owns ten.
func fillSake(b *testing.B, s *Store, n int) storage.SakeTableID {
	b.Helper()
	table := storage.SakeTableID{Game: "gmtest", Name: "levels"}
	_, err := s.CreateSakeRecord(b.Context(), table, 1, []storage.SakeField{
		{Name: "name", Value: storage.SakeValue{Type: storage.SakeUnicode, Text: []byte("player 123")}},
		{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: 54321}},
		{Name: "level", Value: storage.SakeValue{Type: storage.SakeByte, Num: 7}},
		{Name: "ratio", Value: storage.SakeFloatValue(1.5)},
		{Name: "data", Value: storage.SakeValue{Type: storage.SakeBinary, Text: make([]byte, 64)}},
	}, storage.SakeLimits{})
	if err != nil {
		b.Fatal(err)
	}
	runSQL(b, s.pool.Config().ConnString(), fmt.Sprintf(`INSERT INTO sake_owners SELECT i, 0, 0 FROM generate_series(2, %[1]d / 10) AS i;
		INSERT INTO sake_records (table_no, id, owner, created, changed, fields)
		SELECT table_no, i, (i - 1) / 10 + 1, 0, 0, fields FROM sake_records, generate_series(2, %[1]d) AS i;
		UPDATE sake_tables SET last_id = %[1]d`, n))
	runSQL(b, s.pool.Config().ConnString(), `VACUUM ANALYZE sake_records`)
	return table
}

func BenchmarkSake(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openBench(b, n/10)
			table := fillSake(b, s, n)
			b.Run("scan all", func(b *testing.B) {
				rows := 0
				for b.Loop() {
					err := s.ScanSake(b.Context(), table, storage.SakeScan{}, func(r *storage.SakeRow) bool {
						for _, _, ok := r.Next(); ok; _, _, ok = r.Next() {
						}
						rows++
						return true
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
			})
			each(b, map[string]func(int) error{
				"scan of owner": func(i int) error {
					found := 0
					err := s.ScanSake(context.Background(), table, storage.SakeScan{Owners: []storage.ProfileID{storage.ProfileID(i%(n/10) + 1)}},
						func(*storage.SakeRow) bool { found++; return true })
					if found < 10 && err == nil {
						err = fmt.Errorf("found %d", found)
					}
					return err
				},
				"get": func(i int) error {
					_, err := s.SakeRecords(context.Background(), table, []uint32{uint32(i%n + 1)})
					return err
				},
				"update": func(i int) error {
					fields := []storage.SakeField{{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: int64(20_000 + i%9999)}}}
					return s.UpdateSakeRecord(context.Background(), table, uint32(i*7919%n+1), 0, fields, storage.SakeLimits{TotalBytes: 1 << 40})
				},
				"create": func(i int) error {
					fields := []storage.SakeField{{Name: "score", Value: storage.SakeValue{Type: storage.SakeInt, Num: 5}}}
					_, err := s.CreateSakeRecord(context.Background(), table, storage.ProfileID(i%(n/10)+1), fields, storage.SakeLimits{})
					return err
				},
			})
		})
	}
}
