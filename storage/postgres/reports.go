package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// maxReportDrop is the maximum number of old reports that one step removes, so that a
// lowered limit does not delay the next one much.
const maxReportDrop = 100

// reportHead returns the doc of a report: all but its pairs and its id.
func reportHead(r storage.Report) ([]byte, error) {
	r.ID, r.Pairs = 0, nil
	return json.Marshal(r)
}

// scanReport reads the columns id, doc, pairs.
func scanReport(row pgx.Row, r *storage.Report) error {
	var id int64
	var doc, pairs []byte
	if err := row.Scan(&id, &doc, &pairs); err != nil {
		return err
	}
	err := decode(doc, r, "report", id)
	r.ID, r.Pairs = uint64(id), orNil(pairs)
	return err
}

// PutReport is described in [storage.Stats].
func (s *Store) PutReport(ctx context.Context, r storage.Report, credits []storage.Credit, limits storage.ReportLimits,
) (storage.ReportResult, error) {
	r, err := r.Canonical()
	if err != nil {
		return storage.ReportResult{}, err
	}
	if err := storage.CheckCredits(credits); err != nil {
		return storage.ReportResult{}, err
	}
	var result storage.ReportResult
	var outgrown []chunk
	err = s.write(ctx, func(ctx context.Context, c *change) error {
		outgrown = nil
		result, err = putReport(ctx, c, r, credits, limits, &outgrown)
		c.idle = !result.Stored
		return err
	})
	if err != nil {
		return storage.ReportResult{}, err
	}
	s.arrange(ctx, outgrown)
	return result, nil
}

// putReport is the step of PutReport.
func putReport(ctx context.Context, q querier, r storage.Report, credits []storage.Credit, limits storage.ReportLimits, outgrown *[]chunk,
) (result storage.ReportResult, err error) {
	next, old, err := mergeReport(ctx, q, r)
	if err != nil {
		return result, err
	}
	result.ID = old.id
	if next == nil {
		return result, nil
	}
	games, bytes := int64(0), int64(0)
	if result.ID, err = storeReport(ctx, q, next, old, &games, &bytes); err != nil {
		return result, err
	}
	result.Stored = true
	if next.Done && next.Trusted {
		if result.Credited, err = credit(ctx, q, credits, next.Updated, outgrown); err != nil {
			return result, err
		}
	}
	result.Dropped, err = limitReports(ctx, q, next.Game, result.ID, limits, games, bytes)
	return result, err
}

// oldReport is the stored report of the same connection and session.
type oldReport struct {
	id   uint64 // 0: there is none
	head storage.Report
	size int64
}

// mergeReport locks all reports. It returns the report to be stored, nil if there is
// nothing to store, and the earlier one of the same game.
func mergeReport(ctx context.Context, q querier, r storage.Report) (next *storage.Report, old oldReport, err error) {
	var doc []byte
	var b pgx.Batch
	b.Queue(`SELECT FROM report_totals FOR NO KEY UPDATE`)
	b.Queue(`SELECT id, doc, size FROM reports WHERE game = $1 AND conn = $2 AND session = $3 AND current`,
		r.Game, int64(r.Conn), r.Session).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&old.id, &doc, &old.size)
		if noRows(err) {
			return nil
		}
		return err
	})
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return nil, old, err
	}
	r.ID = 0
	if old.id == 0 {
		return &r, old, nil
	}
	if err := decode(doc, &old.head, "report", old.id); err != nil {
		return nil, old, err
	}
	switch {
	case old.head.Done && r.New:
		return &r, old, nil
	case old.head.Done, r.New:
		return nil, old, nil
	}
	r.ID, r.Started, r.Trusted = old.id, old.head.Started, old.head.Trusted && r.Trusted
	return &r, old, nil
}

// storeReport stores a report, under a new id if it has none, and returns the id. games
// and bytes become the number of reports of its game and the size of all reports.
func storeReport(ctx context.Context, q querier, r *storage.Report, old oldReport, games, bytes *int64) (id uint64, err error) {
	doc, err := reportHead(*r)
	if err != nil {
		return 0, err
	}
	size, made := int64(len(doc)+len(r.Pairs)), 1
	grown := size
	var b pgx.Batch
	if r.ID != 0 {
		id, made, grown = r.ID, 0, size-old.size
		b.Queue(`UPDATE reports SET done = $2, started = $3, size = $4, doc = $5, pairs = $6 WHERE id = $1`,
			int64(r.ID), r.Done, nanoseconds(r.Started), size, doc, notNil(r.Pairs))
	} else {
		if old.id != 0 {
			b.Queue(`UPDATE reports SET current = false WHERE id = $1`, int64(old.id))
		}
		b.Queue(`INSERT INTO reports (game, conn, session, done, started, size, doc, pairs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
			r.Game, int64(r.Conn), r.Session, r.Done, nanoseconds(r.Started), size, doc, notNil(r.Pairs)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
	}
	b.Queue(`INSERT INTO report_games AS g (game, reports) VALUES ($1, $2)
		ON CONFLICT (game) DO UPDATE SET reports = g.reports + excluded.reports RETURNING reports`, r.Game, made).
		QueryRow(func(row pgx.Row) error { return row.Scan(games) })
	b.Queue(`UPDATE report_totals SET reports = reports + $1, bytes = bytes + $2 RETURNING bytes`, made, grown).
		QueryRow(func(row pgx.Row) error { return row.Scan(bytes) })
	return id, q.SendBatch(ctx, &b).Close()
}

// limitReports removes the oldest reports beyond the limits, but not the report keep,
// and returns how many. games and bytes are the stored amounts of the game and in all.
func limitReports(ctx context.Context, q querier, game string, keep uint64, limits storage.ReportLimits, games, bytes int64) (dropped int, err error) {
	if over := games - int64(limits.PerGame); limits.PerGame > 0 && over > 0 {
		rows, err := q.Query(ctx, `DELETE FROM reports WHERE id IN (
				SELECT id FROM reports WHERE game = $1 AND id < $2 ORDER BY id LIMIT $3) RETURNING game, size`,
			game, int64(keep), min(over, maxReportDrop))
		n, size, err := uncountReports(ctx, q, rows, err)
		if err != nil {
			return 0, err
		}
		dropped, bytes = n, bytes-size
	}
	if limits.Bytes > 0 && bytes > limits.Bytes && dropped < maxReportDrop {
		rows, err := q.Query(ctx, `DELETE FROM reports WHERE id IN (
				SELECT id FROM (SELECT id, sum(size) OVER (ORDER BY id) - size AS before FROM (
					SELECT id, size FROM reports WHERE id < $1 ORDER BY id LIMIT $2) AS r) AS r
				WHERE before < $3) RETURNING game, size`,
			int64(keep), maxReportDrop-dropped, bytes-limits.Bytes)
		n, _, err := uncountReports(ctx, q, rows, err)
		return dropped + n, err
	}
	return dropped, nil
}

// uncountReports takes deleted reports, whose games and sizes are in rows, out of the
// sums, and returns how many there were and their size.
func uncountReports(ctx context.Context, q querier, rows pgx.Rows, err error) (n int, size int64, _ error) {
	if err != nil {
		return 0, 0, err
	}
	var game string
	var one int64
	games := make(map[string]int64)
	if _, err := pgx.ForEachRow(rows, []any{&game, &one}, func() error {
		games[game]++
		n++
		size += one
		return nil
	}); err != nil || n == 0 {
		return 0, 0, err
	}
	var b pgx.Batch
	for game, n := range games { // all reports are locked: the order does not matter
		b.Queue(`UPDATE report_games SET reports = reports - $2 WHERE game = $1`, game, n)
	}
	b.Queue(`UPDATE report_totals SET reports = reports - $1, bytes = bytes - $2`, n, size)
	return n, size, q.SendBatch(ctx, &b).Close()
}

// GetReport is described in [storage.Stats].
func (s *Store) GetReport(ctx context.Context, id uint64) (r storage.Report, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		r = storage.Report{}
		return scanReport(q.QueryRow(ctx, `SELECT id, doc, pairs FROM reports WHERE id = $1`, bigID(id)), &r)
	})
	if err != nil {
		return storage.Report{}, err
	}
	return r, nil
}

// bigID returns the column of an id, one that is never used for those that no column
// can have.
func bigID(id uint64) int64 {
	if id > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(id)
}

// Reports is described in [storage.Stats].
func (s *Store) Reports(ctx context.Context, game string, before uint64) iter.Seq2[storage.Report, error] {
	return iterateSized(ctx, s, func(ctx context.Context, q querier, last *storage.Report) ([]item[storage.Report], error) {
		from := bigID(before - 1) // 0: all
		if last != nil {
			from = int64(last.ID) - 1
		}
		rows, err := q.Query(ctx, `SELECT id, doc, pairs FROM (
				SELECT *, sum(size) OVER (ORDER BY id DESC) - size AS ahead FROM (
					SELECT * FROM reports WHERE game = $1 AND id <= $2 ORDER BY id DESC LIMIT $3) AS r) AS r
			WHERE ahead < $4 ORDER BY id DESC`, lookup(game), from, pageRecords, pageBytes)
		return collect(rows, err, scanReport)
	})
}

// DeleteReport is described in [storage.Stats].
func (s *Store) DeleteReport(ctx context.Context, id uint64) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		n, err := dropReports(ctx, c, `id = $1`, bigID(id))
		if err == nil && n == 0 {
			err = storage.ErrNotFound
		}
		return err
	})
}

// dropReports removes reports and returns how many there were.
func dropReports(ctx context.Context, q querier, which string, arg any) (int, error) {
	if _, err := q.Exec(ctx, `SELECT FROM report_totals FOR NO KEY UPDATE`); err != nil {
		return 0, err
	}
	rows, err := q.Query(ctx, `DELETE FROM reports WHERE `+which+` RETURNING game, size`, arg)
	n, _, err := uncountReports(ctx, q, rows, err)
	return n, err
}

// dropStep is how many records a sweep removes in one step.
const dropStep = 1000

// SweepReports is described in [storage.Stats].
func (s *Store) SweepReports(ctx context.Context, before time.Time) (total int, err error) {
	return s.sweepSteps(ctx, "reports", func(ctx context.Context, c *change) (int, error) {
		return dropReports(ctx, c, fmt.Sprintf(`id IN (SELECT id FROM reports WHERE started < $1 ORDER BY started LIMIT %d)`, dropStep), nanoseconds(before))
	})
}

// sweepSteps runs a step, which returns how many records it removed, until it removes fewer
// than dropStep. kind is for the error.
func (s *Store) sweepSteps(ctx context.Context, kind string, step func(context.Context, *change) (int, error)) (total int, err error) {
	for n := dropStep; n >= dropStep; total += n {
		err := s.write(ctx, func(ctx context.Context, c *change) (err error) {
			n, err = step(ctx, c)
			c.idle = n == 0
			return err
		})
		if err != nil {
			return total, fmt.Errorf("sweep %s: %w", kind, err)
		}
	}
	return total, nil
}
