package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

var _ storage.Carrier = (*Store)(nil)

// settingCopy is the setting that is the mark of a copy.
const settingCopy = "copy"

// Numbers is described in [storage.Carrier].
func (s *Store) Numbers(ctx context.Context) (n storage.Numbers, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT
			(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM user_ids),
			(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM profile_ids),
			(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM room_ids),
			(SELECT last_id FROM file_totals),
			(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM reports_id_seq),
			(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM matches_id_seq),
			(SELECT last FROM audit_state)`).Scan(&n.User, &n.Profile, &n.Room, &n.File, &n.Report, &n.Match, &n.Audit)
	})
	return n, err
}

// RaiseNumbers is described in [storage.Carrier].
func (s *Store) RaiseNumbers(ctx context.Context, n storage.Numbers) error {
	return s.write(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) error {
		var b pgx.Batch
		for sequence, id := range map[string]int64{
			"user_ids": int64(n.User), "profile_ids": int64(n.Profile), "room_ids": int64(n.Room),
			"reports_id_seq": bigID(n.Report), "matches_id_seq": bigID(n.Match),
		} {
			b.Queue(`SELECT setval('`+sequence+`', $1::bigint) FROM `+sequence+` WHERE $1 > 0 AND ($1 > last_value OR NOT is_called)`, id)
		}
		b.Queue(`UPDATE file_totals SET last_id = greatest(last_id, $1)`, int64(n.File))
		b.Queue(`UPDATE audit_state SET last = greatest(last, $1)`, bigID(n.Audit))
		return c.SendBatch(ctx, &b).Close()
	})
}

// reportPage is the number of reports that EveryReport reads at once.
const reportPage = 64

// EveryReport is described in [storage.Carrier].
func (s *Store) EveryReport(ctx context.Context, after uint64) iter.Seq2[storage.Report, error] {
	return iteratePages(ctx, s, reportPage, func(ctx context.Context, q querier, last *storage.Report) ([]item[storage.Report], error) {
		from := bigID(after)
		if last != nil {
			from = int64(last.ID)
		}
		rows, err := q.Query(ctx, `SELECT id, doc, pairs FROM reports WHERE id > $1 ORDER BY id LIMIT $2`, from, reportPage)
		return collect(rows, err, scanReport)
	})
}

// ImportReports is described in [storage.Carrier].
func (s *Store) ImportReports(ctx context.Context, reports []storage.Report) error {
	return imports(ctx, s, reports, func(b *pgx.Batch, r storage.Report) error {
		r, err := r.Canonical()
		if err != nil {
			return err
		}
		doc, err := reportHead(r)
		if err != nil {
			return err
		}
		b.Queue(`UPDATE reports SET current = false WHERE game = $1 AND conn = $2 AND session = $3 AND current AND id < $4`,
			r.Game, int64(r.Conn), r.Session, bigID(r.ID))
		b.Queue(`WITH made AS (
				INSERT INTO reports (id, game, conn, session, done, started, size, doc, pairs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
				ON CONFLICT (id) DO NOTHING RETURNING game, size),
			games AS (
				INSERT INTO report_games AS g (game, reports) SELECT game, 1 FROM made
				ON CONFLICT (game) DO UPDATE SET reports = g.reports + 1)
			UPDATE report_totals SET reports = reports + 1, bytes = bytes + made.size FROM made`,
			bigID(r.ID), r.Game, int64(r.Conn), r.Session, r.Done, nanoseconds(r.Started), int64(len(doc)+len(r.Pairs)), doc, notNil(r.Pairs))
		return nil
	})
}

// imports queues each record and sends all in one step.
func imports[R any](ctx context.Context, s *Store, records []R, queue func(*pgx.Batch, R) error) error {
	return s.write(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) error {
		var b pgx.Batch
		for _, r := range records {
			if err := queue(&b, r); err != nil {
				return err
			}
		}
		return c.SendBatch(ctx, &b).Close()
	})
}

// EveryMatch is described in [storage.Carrier].
func (s *Store) EveryMatch(ctx context.Context, after uint64) iter.Seq2[storage.Match, error] {
	return s.matchPages(ctx, `$1 AND id > $2`, `ASC`, true, bigID(after))
}

// ImportMatches is described in [storage.Carrier].
func (s *Store) ImportMatches(ctx context.Context, matches []storage.Match) error {
	return imports(ctx, s, matches, func(b *pgx.Batch, m storage.Match) error {
		m, err := m.Canonical()
		if err != nil {
			return err
		}
		doc, err := json.Marshal(m)
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO match_games (game) VALUES ($1) ON CONFLICT DO NOTHING`, m.Game)
		b.Queue(`WITH made AS (
				INSERT INTO matches (id, game, open, first, size, doc) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (id) DO NOTHING RETURNING game)
			UPDATE match_games AS g SET matches = g.matches + 1 FROM made WHERE g.game = made.game`,
			bigID(m.ID), m.Game, m.Outcome == storage.MatchOpen, nanoseconds(m.First), len(doc), doc)
		b.Queue(`INSERT INTO match_players (profile, match) SELECT p, $1::bigint FROM unnest($2::bigint[]) AS p ON CONFLICT DO NOTHING`,
			bigID(m.ID), bigints(m.Profiles()))
		return nil
	})
}

// ImportFiles is described in [storage.Carrier].
func (s *Store) ImportFiles(ctx context.Context, files []storage.File) error {
	return imports(ctx, s, files, func(b *pgx.Batch, f storage.File) error {
		f, err := f.Canonical()
		if err != nil {
			return err
		}
		hash, err := openHash(f.Hash)
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO file_usage (owner, files, bytes) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING`, int64(f.Owner))
		b.Queue(`WITH made AS (
				INSERT INTO files (`+fileColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
				ON CONFLICT (id) DO NOTHING RETURNING id, owner, size),
			own AS (UPDATE file_usage AS u SET files = u.files + 1, bytes = u.bytes + made.size FROM made WHERE u.owner = made.owner)
			UPDATE file_totals AS t SET files = t.files + 1, bytes = t.bytes + made.size, last_id = greatest(t.last_id, made.id) FROM made`,
			int64(f.ID), f.Game, int64(f.Owner), f.Name, f.Size, hash, stampOf(f.Created), f.Downloads)
		return nil
	})
}

// ImportRequests is described in [storage.Carrier].
func (s *Store) ImportRequests(ctx context.Context, requests []storage.Request) error {
	return imports(ctx, s, requests, func(b *pgx.Batch, r storage.Request) error {
		if err := errors.Join(r.Check(), checkPair(r.From, r.To)); err != nil {
			return err
		}
		r.Sent = r.Sent.Round(0).UTC()
		doc, err := encode(r, "from", "to")
		if err != nil {
			return err
		}
		b.Queue(`INSERT INTO requests (sender, recipient, expires, doc) VALUES ($1, $2, $3, $4)
			ON CONFLICT (recipient, sender) DO UPDATE SET expires = excluded.expires, doc = excluded.doc`,
			r.From, r.To, nanoseconds(r.Sent.Add(storage.RequestLife)), doc)
		return nil
	})
}

// ImportAudit is described in [storage.Carrier].
func (s *Store) ImportAudit(ctx context.Context, entries []storage.AuditEntry) error {
	return imports(ctx, s, entries, func(b *pgx.Batch, e storage.AuditEntry) error {
		seq := bigID(e.Seq)
		e = e.Canonical()
		doc, err := encode(e, "seq")
		if err != nil {
			return err
		}
		b.Queue(`WITH made AS (INSERT INTO audit (player, seq, doc) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING player, seq)
			UPDATE audit_state AS a SET last = greatest(a.last, made.seq),
				operators = a.operators + CASE WHEN made.player THEN 0 ELSE 1 END,
				players = a.players + CASE WHEN made.player THEN 1 ELSE 0 END FROM made`,
			e.Via == storage.ViaPlayer, seq, doc)
		return nil
	})
}

// CopyMark is described in [storage.Carrier].
func (s *Store) CopyMark(ctx context.Context) (mark string, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		mark = ""
		return unlessNoRows(q.QueryRow(ctx, `SELECT value FROM settings WHERE name = $1`, settingCopy).Scan(&mark))
	})
	return mark, err
}

// SetCopyMark is described in [storage.Carrier].
func (s *Store) SetCopyMark(ctx context.Context, mark string) error {
	return s.once(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) error {
		sql, args := `DELETE FROM settings WHERE name = $1`, []any{settingCopy}
		if mark != "" {
			sql, args = `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, append(args, mark)
		}
		_, err := c.Exec(ctx, sql, args...)
		return err
	})
}
