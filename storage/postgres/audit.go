package postgres

import (
	"context"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// maxAuditDrop is the maximum number of old entries that one step removes, so
// that a lowered limit does not delay the next change much. Readers do not see
// the remaining ones.
const maxAuditDrop = 100

// note stores the audit entry of a change, if its context has one. It is the
// last statement of a transaction, because it holds the lock of the log's
// numbers.
func (s *Store) note(ctx context.Context, c *change) error {
	e, ok := storage.AuditOf(ctx)
	if !ok || c.idle {
		return nil
	}
	if c.id != 0 {
		e.ID = c.id
	}
	_, err := s.addAudit(ctx, c, e.Canonical())
	return err
}

// addAudit stores an entry and removes the oldest ones of its part beyond the
// limit.
func (s *Store) addAudit(ctx context.Context, q querier, e storage.AuditEntry) (storage.AuditEntry, error) {
	e.Seq = 0
	doc, err := encode(e, "seq")
	if err != nil {
		return e, err
	}
	err = q.QueryRow(ctx, `
		WITH old AS (
			SELECT CASE WHEN $1 THEN players ELSE operators END AS n FROM audit_state FOR UPDATE
		), over AS (
			SELECT least(greatest(n + 1 - $3, 0), $4) AS n FROM old
		), state AS (
			UPDATE audit_state SET last = last + 1,
				operators = operators + CASE WHEN $1 THEN 0 ELSE 1 - over.n END,
				players = players + CASE WHEN $1 THEN 1 - over.n ELSE 0 END
			FROM over RETURNING last
		), dropped AS (
			DELETE FROM audit WHERE player = $1 AND seq <= (
				SELECT max(seq) FROM (SELECT seq FROM audit WHERE player = $1 ORDER BY seq LIMIT (SELECT n FROM over)) oldest)
		)
		INSERT INTO audit (player, seq, doc) SELECT $1, last, $2 FROM state RETURNING seq`,
		e.Via == storage.ViaPlayer, doc, s.maxAudit.Load(), maxAuditDrop).Scan(&e.Seq)
	return e, err
}

// AddAudit is described in [storage.Audit].
func (s *Store) AddAudit(ctx context.Context, e storage.AuditEntry) (storage.AuditEntry, error) {
	e = e.Canonical()
	var stored storage.AuditEntry
	err := s.once(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) (err error) {
		stored, err = s.addAudit(ctx, c, e)
		return err
	})
	if err != nil {
		return storage.AuditEntry{}, err
	}
	return stored, nil
}

// LimitAudit is described in [storage.Audit].
func (s *Store) LimitAudit(entries int) { s.maxAudit.Store(int64(max(entries, 1))) }

// AuditLog is described in [storage.Audit].
func (s *Store) AuditLog(ctx context.Context, before uint64) iter.Seq2[storage.AuditEntry, error] {
	below := int64(math.MaxInt64)
	if before > 0 && before < math.MaxInt64 {
		below = int64(before)
	}
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.AuditEntry) ([]item[storage.AuditEntry], error) {
		if last != nil {
			below = int64(last.Seq)
		}
		// The oldest kept entry of each part is behind those that a lowered limit
		// has not removed yet.
		rows, err := q.Query(ctx, `
			WITH kept AS (
				SELECT (SELECT seq FROM audit WHERE NOT player ORDER BY seq
						OFFSET greatest(operators - $2, 0) LIMIT 1) AS operator,
					(SELECT seq FROM audit WHERE player ORDER BY seq
						OFFSET greatest(players - $2, 0) LIMIT 1) AS player
				FROM audit_state
			)
			(SELECT seq, doc FROM audit WHERE NOT player AND seq < $1 AND seq >= (SELECT operator FROM kept)
				ORDER BY seq DESC LIMIT $3)
			UNION ALL
			(SELECT seq, doc FROM audit WHERE player AND seq < $1 AND seq >= (SELECT player FROM kept)
				ORDER BY seq DESC LIMIT $3)
			ORDER BY seq DESC LIMIT $3`, below, s.maxAudit.Load(), pageRecords)
		return collect(rows, err, func(row pgx.Row, e *storage.AuditEntry) error {
			var doc []byte
			if err := row.Scan(&e.Seq, &doc); err != nil {
				return err
			}
			seq := e.Seq
			err := decode(doc, e, "audit log", seq)
			e.Seq = seq
			return err
		})
	})
}
