package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// scanMatch reads the columns id and doc.
func scanMatch(row pgx.Row, m *storage.Match) error {
	var id int64
	var doc []byte
	if err := row.Scan(&id, &doc); err != nil {
		return err
	}
	err := decode(doc, m, "match", id)
	m.ID = uint64(id)
	return err
}

// lockMatches locks the matches of a game, and makes its row.
func lockMatches(b *pgx.Batch, game string) {
	b.Queue(`INSERT INTO match_games (game) VALUES ($1) ON CONFLICT DO NOTHING`, game)
	b.Queue(`SELECT FROM match_games WHERE game = $1 FOR NO KEY UPDATE`, game)
}

// PutMatch is described in [storage.Matches].
func (s *Store) PutMatch(ctx context.Context, m storage.Match, credits []storage.Credit, keep int) (storage.Match, error) {
	m, err := m.Canonical()
	if err != nil {
		return storage.Match{}, err
	}
	if err := storage.CheckCredits(credits); err != nil {
		return storage.Match{}, err
	}
	var next storage.Match
	var outgrown []chunk
	err = s.write(ctx, func(ctx context.Context, c *change) error {
		next, outgrown = m, nil
		return putMatch(ctx, c, &next, credits, keep, &outgrown)
	})
	if err != nil {
		return storage.Match{}, fmt.Errorf("match %s: %w", m.Session, err)
	}
	s.arrange(ctx, outgrown)
	return next, nil
}

// putMatch is the step of PutMatch. It completes m.
func putMatch(ctx context.Context, q querier, m *storage.Match, credits []storage.Credit, keep int, outgrown *[]chunk) error {
	open, err := lockMatch(ctx, q, m, credits)
	if err != nil {
		return err
	}
	matches, err := storeMatch(ctx, q, m)
	if err != nil {
		return err
	}
	if open && m.Outcome.Counts() {
		if _, err := credit(ctx, q, credits, m.Settled, outgrown); err != nil {
			return err
		}
	}
	over := min(matches-int64(keep), maxReportDrop)
	if over <= 0 {
		return nil
	}
	_, err = dropMatches(ctx, q, `id IN (SELECT id FROM (SELECT id FROM matches WHERE game = $1 ORDER BY id LIMIT $2) AS m
		WHERE id < $3)`, m.Game, over, int64(m.ID))
	return err
}

// lockMatch locks the rows that a match depends on and forgets profiles that do not exist. open
// is false if the match is settled already.
func lockMatch(ctx context.Context, q querier, m *storage.Match, credits []storage.Credit) (open bool, err error) {
	var b pgx.Batch
	var there []storage.ProfileID
	locked := m.Profiles()
	for i := range credits {
		locked = append(locked, credits[i].Profile)
	}
	lockProfiles(&b, locked, &there)
	lockMatches(&b, m.Game)
	open = m.ID == 0
	missing := !open
	if m.ID != 0 {
		b.Queue(`SELECT open FROM matches WHERE id = $1 AND game = $2`, bigID(m.ID), m.Game).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&open}, func() error { missing = false; return nil })
			return err
		})
	}
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return false, err
	}
	if missing {
		return false, storage.ErrNotFound
	}
	for _, p := range m.Profiles() {
		if !slices.Contains(there, p) {
			m.Forget(p)
		}
	}
	return open, nil
}

// storeMatch stores a match, under a new id if it has none, and returns how many its
// game has.
func storeMatch(ctx context.Context, q querier, m *storage.Match) (matches int64, err error) {
	made := 0
	if m.ID == 0 { // the id is part of the doc, and of the rows of its players
		if err := q.QueryRow(ctx, `SELECT nextval(pg_get_serial_sequence('matches', 'id'))`).Scan(&m.ID); err != nil {
			return 0, err
		}
		made = 1
	}
	doc, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	var b pgx.Batch
	b.Queue(`INSERT INTO matches (id, game, open, first, size, doc) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id) DO UPDATE SET open = excluded.open, first = excluded.first, size = excluded.size, doc = excluded.doc`,
		int64(m.ID), m.Game, m.Outcome == storage.MatchOpen, nanoseconds(m.First), len(doc), doc)
	if made == 0 {
		b.Queue(`DELETE FROM match_players WHERE match = $1 AND NOT profile = ANY($2)`, int64(m.ID), bigints(m.Profiles()))
	}
	b.Queue(`INSERT INTO match_players (profile, match) SELECT p, $1::bigint FROM unnest($2::bigint[]) AS p ON CONFLICT DO NOTHING`,
		int64(m.ID), bigints(m.Profiles()))
	b.Queue(`UPDATE match_games SET matches = matches + $2 WHERE game = $1 RETURNING matches`, m.Game, made).
		QueryRow(func(row pgx.Row) error { return row.Scan(&matches) })
	return matches, q.SendBatch(ctx, &b).Close()
}

// dropMatches removes matches of games that are locked and returns how many there were.
func dropMatches(ctx context.Context, q querier, which string, args ...any) (n int, err error) {
	rows, err := q.Query(ctx, `DELETE FROM matches WHERE `+which+` RETURNING game`, args...)
	if err != nil {
		return 0, err
	}
	games := make(map[string]int64)
	var game string
	if _, err := pgx.ForEachRow(rows, []any{&game}, func() error { games[game]++; n++; return nil }); err != nil {
		return 0, err
	}
	var b pgx.Batch
	for game, n := range games {
		b.Queue(`UPDATE match_games SET matches = matches - $2 WHERE game = $1`, game, n)
	}
	return n, q.SendBatch(ctx, &b).Close()
}

// forgetMatches removes a profile, which is locked, from its matches.
func forgetMatches(ctx context.Context, q querier, p storage.ProfileID) error {
	const of = `SELECT match FROM match_players WHERE profile = $1`
	var all []item[storage.Match]
	var b pgx.Batch
	b.Queue(`SELECT FROM match_games WHERE game IN (SELECT game FROM matches WHERE id IN (`+of+`)) ORDER BY game FOR NO KEY UPDATE`, int64(p))
	b.Queue(`SELECT id, doc FROM matches WHERE id IN (`+of+`) ORDER BY id`, int64(p)).Query(func(rows pgx.Rows) (err error) {
		all, err = collect(rows, nil, scanMatch)
		return err
	})
	if err := q.SendBatch(ctx, &b).Close(); err != nil {
		return err
	}
	b = pgx.Batch{}
	for i := range all {
		if all[i].err != nil { // a damaged one cannot be read
			continue
		}
		m := &all[i].record
		m.Forget(p)
		doc, err := json.Marshal(m)
		if err != nil {
			return err
		}
		b.Queue(`UPDATE matches SET size = $2, doc = $3 WHERE id = $1`, int64(m.ID), len(doc), doc)
	}
	b.Queue(`DELETE FROM match_players WHERE profile = $1`, int64(p))
	return q.SendBatch(ctx, &b).Close()
}

// GetMatch is described in [storage.Matches].
func (s *Store) GetMatch(ctx context.Context, id uint64) (m storage.Match, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		m = storage.Match{}
		return scanMatch(q.QueryRow(ctx, `SELECT id, doc FROM matches WHERE id = $1`, bigID(id)), &m)
	})
	if err != nil {
		return storage.Match{}, err
	}
	return m, nil
}

// matchPages yields matches. which has the place $1 for arg and orders by id, upwards
// from above $2 or downwards from below it.
func (s *Store) matchPages(ctx context.Context, which, order string, arg any, from int64) iter.Seq2[storage.Match, error] {
	sql := `SELECT id, doc FROM (
			SELECT id, doc, sum(size) OVER (ORDER BY id ` + order + `) - size AS ahead FROM (
				SELECT id, doc, size FROM matches WHERE ` + which + ` ORDER BY id ` + order + ` LIMIT $3) AS m) AS m
		WHERE ahead < $4 ORDER BY id ` + order
	return iterateSized(ctx, s, func(ctx context.Context, q querier, last *storage.Match) ([]item[storage.Match], error) {
		at := from
		if last != nil {
			at = int64(last.ID)
		}
		rows, err := q.Query(ctx, sql, arg, at, pageRecords, pageBytes)
		return collect(rows, err, scanMatch)
	})
}

// Matches is described in [storage.Matches].
func (s *Store) Matches(ctx context.Context, game string, before uint64) iter.Seq2[storage.Match, error] {
	if before == 0 {
		before = math.MaxUint64
	}
	return s.matchPages(ctx, `game = $1 AND id < $2`, `DESC`, lookup(game), bigID(before))
}

// OpenMatches is described in [storage.Matches].
func (s *Store) OpenMatches(ctx context.Context) iter.Seq2[storage.Match, error] {
	return s.matchPages(ctx, `open = $1 AND open AND id > $2`, `ASC`, true, 0)
}

// MatchesOf is described in [storage.Matches].
func (s *Store) MatchesOf(ctx context.Context, id storage.ProfileID) iter.Seq2[storage.Match, error] {
	return s.matchPages(ctx, `id IN (SELECT match FROM match_players WHERE profile = $1 AND match > $2)`, `ASC`, int64(id), 0)
}

// DeleteMatch is described in [storage.Matches].
func (s *Store) DeleteMatch(ctx context.Context, id uint64) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		if _, err := c.Exec(ctx, `SELECT FROM match_games WHERE game = (SELECT game FROM matches WHERE id = $1) FOR NO KEY UPDATE`, bigID(id)); err != nil {
			return err
		}
		n, err := dropMatches(ctx, c, `id = $1`, bigID(id))
		if err == nil && n == 0 {
			err = storage.ErrNotFound
		}
		return err
	})
}

// SweepMatches is described in [storage.Matches].
func (s *Store) SweepMatches(ctx context.Context, before time.Time) (int, error) {
	return s.sweepSteps(ctx, "matches", func(ctx context.Context, c *change) (int, error) {
		rows, err := c.Query(ctx, `SELECT id FROM matches WHERE first < $1 ORDER BY first LIMIT $2`, nanoseconds(before), dropStep)
		if err != nil {
			return 0, err
		}
		old, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil || len(old) == 0 {
			return 0, err
		}
		if _, err := c.Exec(ctx, `SELECT FROM match_games WHERE game IN (SELECT game FROM matches WHERE id = ANY($1))
			ORDER BY game FOR NO KEY UPDATE`, old); err != nil {
			return 0, err
		}
		return dropMatches(ctx, c, `id = ANY($1)`, old)
	})
}
