package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/respawnd/respawnd/storage"
)

var _ storage.Sessions = (*Store)(nil)

// Classes of advisory locks.
const (
	lockSessions = 0x73657373 // "sess": the sessions of a user
	lockRuns     = 0x72756e73 // "runs": the runs of a node
)

// checkNode returns an error for a name that no node can have.
func checkNode(node string) error {
	if node == "" || len(node) > storage.MaxNodeName {
		return storage.ErrInvalid
	}
	return nil
}

// inOne runs a batch as one transaction in one round trip. read reads the results.
func inOne(ctx context.Context, q querier, b *pgx.Batch, read func(pgx.BatchResults) error) error {
	results := q.SendBatch(ctx, b)
	if err := read(results); err != nil {
		_ = results.Close() // its error is the same
		return err
	}
	return results.Close()
}

// skip reads the results of n statements that return nothing.
func skip(r pgx.BatchResults, n int) error {
	for range n {
		if _, err := r.Exec(); err != nil {
			return err
		}
	}
	return nil
}

// BeginRun is described in [storage.Sessions].
func (s *Store) BeginRun(ctx context.Context, node string) (run uint64, err error) {
	if err := checkNode(node); err != nil {
		return 0, err
	}
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		var b pgx.Batch
		b.Queue(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, lockRuns, node)
		b.Queue(`DELETE FROM live_sessions WHERE run IN (SELECT run FROM session_runs WHERE node = $1)`, node)
		b.Queue(`DELETE FROM session_runs WHERE node = $1`, node)
		b.Queue(`INSERT INTO session_runs (run, node) VALUES (nextval('session_fences'), $1) RETURNING run`, node)
		return inOne(ctx, c, &b, func(r pgx.BatchResults) error {
			if err := skip(r, 3); err != nil {
				return err
			}
			return r.QueryRow().Scan(&run)
		})
	})
	return run, err
}

// EndRun is described in [storage.Sessions].
func (s *Store) EndRun(ctx context.Context, run uint64) error {
	return s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		var b pgx.Batch
		b.Queue(`UPDATE session_runs SET ended = true WHERE run = $1`, run)
		b.Queue(`DELETE FROM live_sessions WHERE run = $1`, run)
		return inOne(ctx, c, &b, func(r pgx.BatchResults) error { return skip(r, 2) })
	})
}

// mark marks the sessions that a new one displaces and returns them. It is the end of
// a statement that begins with the row new.
const mark = `
	gone AS (
		UPDATE live_sessions old SET displaced = true FROM new
		WHERE NOT old.displaced AND old.user_id = new.user_id AND old.fence < new.fence
			AND (new.displaces = 1 OR new.displaces = 0 AND old.profile = new.profile)
		RETURNING old.run, old.id, old.fence, old.profile, old.user_id, old.displaces
	)`

// EnterSession is described in [storage.Sessions]. The lock of the user puts two
// sign-ins in order; the statement after it sees the changes of the one before.
func (s *Store) EnterSession(ctx context.Context, e storage.LiveSession) (fence uint64, displaced []storage.LiveSession, err error) {
	if err := e.Check(); err != nil {
		return 0, nil, err
	}
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		fence, displaced = 0, nil
		var b pgx.Batch
		ended := false
		b.Queue(`SELECT pg_advisory_xact_lock($1, $2)`, lockSessions, e.User)
		b.Queue(`SELECT ended FROM session_runs WHERE run = $1`, e.Run)
		b.Queue(`
			WITH new AS (
				INSERT INTO live_sessions (run, id, fence, profile, user_id, displaces)
				SELECT run, $2, nextval('session_fences'), $3, $4, $5 FROM session_runs WHERE run = $1 AND NOT ended
				RETURNING *
			),`+mark+`
			SELECT run, id, fence, profile, user_id, displaces FROM new
			UNION ALL SELECT * FROM gone ORDER BY fence`, e.Run, e.ID, e.Profile, e.User, e.Displaces)
		return inOne(ctx, c, &b, func(r pgx.BatchResults) error {
			if err := skip(r, 1); err != nil {
				return err
			}
			if err := r.QueryRow().Scan(&ended); err != nil {
				return err
			}
			all, err := collectBatch(r, scanSession)
			switch {
			case isTaken(err):
				return storage.ErrTaken
			case err != nil:
				return err
			case ended || len(all) == 0:
				return storage.ErrConflict
			}
			last := len(all) - 1 // the new one has the highest fence
			fence, displaced = all[last].Fence, all[:last]
			return nil
		})
	})
	if len(displaced) == 0 {
		displaced = nil
	}
	return fence, displaced, err
}

func isTaken(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == codeUnique
}

func scanSession(row pgx.CollectableRow) (e storage.LiveSession, err error) {
	err = row.Scan(&e.Run, &e.ID, &e.Fence, &e.Profile, &e.User, &e.Displaces)
	return e, err
}

// LeaveSessions is described in [storage.Sessions].
func (s *Store) LeaveSessions(ctx context.Context, run uint64, ids []uint64) error {
	if len(ids) > storage.MaxSessionsAtOnce {
		return storage.ErrInvalid
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		_, err := c.Exec(ctx, `DELETE FROM live_sessions WHERE run = $1 AND id = ANY($2)`, run, signed(ids))
		return err
	})
}

// signed returns numbers as the database has them.
func signed(ids []uint64) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}

// Beat is described in [storage.Sessions].
func (s *Store) Beat(ctx context.Context, node string, run, after uint64) (p storage.Pulse, err error) {
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		p = storage.Pulse{}
		var b pgx.Batch
		b.Queue(`UPDATE session_runs SET beats = beats + 1 WHERE run = $1 AND NOT ended`, run)
		b.Queue(`SELECT node, run, beats, ended FROM session_runs ORDER BY node, run`)
		b.Queue(`SELECT id FROM live_sessions WHERE run = $1 AND displaced`, run)
		b.Queue(`SELECT fence, user_id, profile, reason FROM account_ends WHERE fence > $1 ORDER BY fence LIMIT $2`, after, storage.MaxAccountEnds)
		return inOne(ctx, c, &b, func(r pgx.BatchResults) error {
			if err := skip(r, 1); err != nil {
				return err
			}
			runs, err := collectRuns(r)
			if err != nil {
				return err
			}
			if err := stateOf(runs, node, run); err != nil {
				return err
			}
			for _, r := range runs {
				if !r.ended {
					p.Runs = append(p.Runs, r.NodeRun)
				}
			}
			if p.Displaced, err = collectBatch(r, pgx.RowTo[uint64]); err != nil {
				return err
			}
			p.Ends, err = collectBatch(r, func(row pgx.CollectableRow) (e storage.AccountEnd, err error) {
				err = row.Scan(&e.Fence, &e.User, &e.Profile, &e.Reason)
				return e, err
			})
			return err
		})
	})
	if err != nil {
		return storage.Pulse{}, err
	}
	return p, nil
}

// nodeRun is a run with its end.
type nodeRun struct {
	storage.NodeRun
	ended bool
}

// collectRuns reads runs.
func collectRuns(r pgx.BatchResults) ([]nodeRun, error) {
	return collectBatch(r, func(row pgx.CollectableRow) (n nodeRun, err error) {
		err = row.Scan(&n.Node, &n.Run, &n.Beats, &n.ended)
		return n, err
	})
}

// collectBatch reads the rows of the next statement, nil if there are none.
func collectBatch[T any](r pgx.BatchResults, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := r.Query()
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, scan)
	if len(list) == 0 {
		list = nil
	}
	return list, err
}

// stateOf returns why a run cannot be used, nil if it can.
func stateOf(runs []nodeRun, node string, run uint64) error {
	i := slices.IndexFunc(runs, func(r nodeRun) bool { return r.Run == run })
	switch {
	case i >= 0 && runs[i].ended:
		return storage.ErrConflict
	case i >= 0:
		return nil
	case slices.ContainsFunc(runs, func(r nodeRun) bool { return r.Node == node }):
		return storage.ErrTaken
	}
	return storage.ErrNotFound
}

// RestoreSessions is described in [storage.Sessions].
func (s *Store) RestoreSessions(ctx context.Context, node string, run uint64, sessions []storage.LiveSession) (displaced []uint64, err error) {
	if err := checkRestored(node, run, sessions); err != nil {
		return nil, err
	}
	err = s.write(ctx, func(ctx context.Context, c *change) error {
		c.idle, displaced = true, nil
		if err := restoreRun(ctx, c, node, run); err != nil {
			return err
		}
		return restoreSessions(ctx, c, sessions, &displaced)
	})
	return displaced, err
}

func checkRestored(node string, run uint64, sessions []storage.LiveSession) error {
	if len(sessions) > storage.MaxSessionsAtOnce {
		return storage.ErrInvalid
	}
	for i := range sessions {
		if err := sessions[i].Check(); err != nil {
			return err
		}
		if sessions[i].Run != run || sessions[i].Fence == 0 {
			return storage.ErrInvalid
		}
	}
	return checkNode(node)
}

// restoreRun makes a run one that has not ended.
func restoreRun(ctx context.Context, c *change, node string, run uint64) error {
	var b pgx.Batch
	b.Queue(`SELECT pg_advisory_xact_lock($1, hashtext($2))`, lockRuns, node)
	b.Queue(`SELECT node, run, beats, ended FROM session_runs WHERE node = $1 OR run = $2 ORDER BY run`, node, run)
	return inOne(ctx, c, &b, func(r pgx.BatchResults) error {
		if err := skip(r, 1); err != nil {
			return err
		}
		runs, err := collectRuns(r)
		if err != nil {
			return err
		}
		if err := stateOf(runs, node, run); errors.Is(err, storage.ErrTaken) {
			return err
		}
		if err := r.Close(); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `INSERT INTO session_runs (run, node) VALUES ($1, $2) ON CONFLICT (run) DO UPDATE SET ended = false`, run, node)
		return err
	})
}

// restoreSessions adds sessions with their fences, and reports those that newer ones
// displace. The locks are taken in the order of users, so that two nodes that restore
// wait for each other in one direction only.
func restoreSessions(ctx context.Context, c *change, sessions []storage.LiveSession, displaced *[]uint64) error {
	if len(sessions) == 0 {
		return nil
	}
	var runs, ids, fences []int64
	var profiles, users, rules []int32
	for _, e := range sessions {
		runs, ids, fences = append(runs, int64(e.Run)), append(ids, int64(e.ID)), append(fences, int64(e.Fence))
		profiles, users, rules = append(profiles, int32(e.Profile)), append(users, int32(e.User)), append(rules, int32(e.Displaces))
	}
	const these = `unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[], $6::int[]) AS s (run, id, fence, profile, user_id, displaces)`
	const over = `(n.fence > o.fence AND n.user_id = o.user_id AND (n.displaces = 1 OR n.displaces = 0 AND n.profile = o.profile))`
	all := []any{runs, ids, fences, profiles, users, rules}
	var b pgx.Batch
	b.Queue(`SELECT count(pg_advisory_xact_lock($1, u)) FROM (SELECT DISTINCT u FROM unnest($2::int[]) u ORDER BY u) AS sorted`, lockSessions, users)
	b.Queue(`SELECT setval('session_fences', greatest(last_value, $1)) FROM session_fences`, slices.Max(fences))
	b.Queue(`
		WITH o AS (SELECT * FROM `+these+`)
		SELECT o.id FROM o
		WHERE NOT EXISTS (SELECT FROM live_sessions s WHERE s.run = o.run AND s.id = o.id)
			AND (EXISTS (SELECT FROM live_sessions n WHERE `+over+`) OR EXISTS (SELECT FROM o n WHERE `+over+`))`, all...)
	b.Queue(`
		INSERT INTO live_sessions (run, id, fence, profile, user_id, displaces)
		SELECT o.* FROM (SELECT * FROM `+these+`) o
		WHERE NOT EXISTS (SELECT FROM live_sessions n WHERE `+over+`)
			AND NOT EXISTS (SELECT FROM (SELECT * FROM `+these+`) n WHERE `+over+`)
		ON CONFLICT DO NOTHING`, all...)
	b.Queue(`
		UPDATE live_sessions o SET displaced = true FROM (SELECT * FROM `+these+`) n WHERE NOT o.displaced AND `+over, all...)
	return inOne(ctx, c, &b, func(r pgx.BatchResults) (err error) {
		if err = skip(r, 2); err != nil {
			return err
		}
		if *displaced, err = collectBatch(r, pgx.RowTo[uint64]); err != nil {
			return err
		}
		return skip(r, 2)
	})
}

// Waiting is described in [storage.Sessions].
func (s *Store) Waiting(ctx context.Context, run uint64) (ids []storage.ProfileID, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT DISTINCT profile FROM live_sessions
			WHERE run = $1 AND EXISTS (SELECT FROM messages WHERE recipient = profile)`, run)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[storage.ProfileID])
		return err
	})
	return ids, err
}

// EndSessions is described in [storage.Sessions].
func (s *Store) EndSessions(ctx context.Context, e storage.AccountEnd) (fence uint64, err error) {
	if err := e.Check(); err != nil {
		return 0, err
	}
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		return c.QueryRow(ctx, `
			INSERT INTO account_ends (fence, user_id, profile, reason) VALUES (nextval('session_fences'), $1, $2, $3) RETURNING fence`,
			e.User, e.Profile, e.Reason).Scan(&fence)
	})
	return fence, err
}

// SweepEnds is described in [storage.Sessions].
func (s *Store) SweepEnds(ctx context.Context, upto uint64) (n int, err error) {
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		tag, err := c.Exec(ctx, `DELETE FROM account_ends WHERE fence <= $1`, upto)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
