package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// sweepStep is the number of rows that a sweep deletes in one step.
const sweepStep = 1000

// sqlRequestRow are the columns that scanRequest reads.
const sqlRequestRow = `sender, recipient, doc`

func scanRequest(row pgx.Row, r *storage.Request) error {
	var from, to storage.ProfileID
	var doc []byte
	if err := row.Scan(&from, &to, &doc); err != nil {
		return err
	}
	err := decode(doc, r, "request", fmt.Sprintf("from %d to %d", from, to))
	r.From, r.To = from, to
	return err
}

// Ask is described in [storage.Buddies].
func (s *Store) Ask(ctx context.Context, r storage.Request) error {
	if err := r.Check(); err != nil {
		return err
	}
	r.Sent = r.Sent.Round(0).UTC()
	doc, err := encode(r, "from", "to")
	if err != nil {
		return err
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		if err := checkPair(r.From, r.To); err != nil {
			return err
		}
		var there, buddy, room bool
		b := &pgx.Batch{}
		queueLockProfiles(b, r.From, r.To)
		b.Queue(`
			WITH strangers AS (
				SELECT count(*) AS n FROM requests r WHERE sender = $1::int
					AND NOT EXISTS (SELECT FROM buddies WHERE owner = r.recipient AND other = $1)
			), state AS (
				SELECT (SELECT count(*) FROM profiles WHERE id IN ($1, $2::int)) = 2 AS there,
					EXISTS (SELECT FROM buddies WHERE owner = $1 AND other = $2) AS buddy,
					EXISTS (SELECT FROM requests WHERE recipient = $2 AND sender = $1)
						OR (SELECT count(*) FROM requests WHERE recipient = $2) < $5
						AND (SELECT count(*) FROM requests WHERE sender = $1) < $6
						AND ((SELECT n FROM strangers) < $7 OR EXISTS (SELECT FROM buddies WHERE owner = $2 AND other = $1)) AS room
			), added AS (
				INSERT INTO requests (sender, recipient, expires, doc)
				SELECT $1, $2, $3, $4 FROM state WHERE there AND NOT buddy AND room
				ON CONFLICT (recipient, sender) DO UPDATE SET expires = excluded.expires, doc = excluded.doc
			)
			SELECT there, buddy, room FROM state`,
			r.From, r.To, nanoseconds(r.Sent.Add(storage.RequestLife)), doc,
			storage.MaxRequestsTo, storage.MaxRequestsFrom, storage.MaxRequestsToStrangers).
			QueryRow(func(row pgx.Row) error { return row.Scan(&there, &buddy, &room) })
		switch err := c.SendBatch(ctx, b).Close(); {
		case err != nil:
			return err
		case !there:
			return fmt.Errorf("profile %d or %d: %w", r.From, r.To, storage.ErrNotFound)
		case buddy:
			return &storage.TakenError{Index: storage.IndexBuddy}
		case !room:
			return fmt.Errorf("requests from profile %d to %d: %w", r.From, r.To, storage.ErrFull)
		}
		return nil
	})
}

// Request is described in [storage.Buddies].
func (s *Store) Request(ctx context.Context, from, to storage.ProfileID) (r storage.Request, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return scanRequest(q.QueryRow(ctx, `SELECT `+sqlRequestRow+` FROM requests
			WHERE sender = $1::bigint AND recipient = $2::bigint`, from, to), &r)
	})
	if err != nil {
		return storage.Request{}, err
	}
	return r, nil
}

// Requests is described in [storage.Buddies].
func (s *Store) Requests(ctx context.Context, to storage.ProfileID) iter.Seq2[storage.Request, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Request) ([]item[storage.Request], error) {
		var after storage.ProfileID
		if last != nil {
			after = last.From
		}
		rows, err := q.Query(ctx, `SELECT `+sqlRequestRow+` FROM requests
			WHERE recipient = $1::bigint AND sender > $2::bigint ORDER BY sender LIMIT $3`, to, after, pageRecords)
		return collect(rows, err, scanRequest)
	})
}

// Accept is described in [storage.Buddies].
func (s *Store) Accept(ctx context.Context, from, to storage.ProfileID, signature string, now time.Time) error {
	// The digests are compared instead of the signatures, so that the time that it
	// takes says nothing about the right one.
	digest := sha256.Sum256([]byte(signature))
	return s.once(ctx, func(ctx context.Context, c *change) error {
		if checkPair(from, to) != nil {
			return storage.ErrNotFound
		}
		var taken, closed bool
		var open *bool
		var n int
		b := &pgx.Batch{}
		queueLockProfiles(b, from)
		b.Queue(`
			WITH state AS (
				SELECT EXISTS (SELECT FROM buddies WHERE owner = $1::int AND other = $2::int) AS taken,
					(SELECT count(*) FROM buddies WHERE owner = $1) AS n,
					(SELECT expires > $3 AND sha256(convert_to(doc->>'signature', 'UTF8')) = $4
						FROM requests WHERE sender = $1 AND recipient = $2) AS open
			), closed AS (
				DELETE FROM requests USING state WHERE sender = $1 AND recipient = $2 AND open AND (taken OR n < $5)
				RETURNING taken
			), added AS (
				INSERT INTO buddies (owner, other) SELECT $1, $2 FROM closed WHERE NOT taken
			)
			SELECT open, taken, n, EXISTS (SELECT FROM closed) FROM state`,
			from, to, nanoseconds(now), digest[:], storage.MaxBuddies).
			QueryRow(func(row pgx.Row) error { return row.Scan(&open, &taken, &n, &closed) })
		switch err := c.SendBatch(ctx, b).Close(); {
		case err != nil:
			return err
		case closed:
			return nil
		case open != nil && *open && !taken && n >= storage.MaxBuddies:
			return fmt.Errorf("buddies of profile %d: %w", from, storage.ErrFull)
		}
		return storage.ErrNotFound
	})
}

// Withdraw is described in [storage.Buddies].
func (s *Store) Withdraw(ctx context.Context, from, to storage.ProfileID) error {
	return s.remove(ctx, `DELETE FROM requests WHERE sender = $1::bigint AND recipient = $2::bigint`, from, to)
}

// SweepRequests is described in [storage.Buddies].
func (s *Store) SweepRequests(ctx context.Context, now time.Time) (int, error) {
	n, err := s.sweep(ctx, `DELETE FROM requests WHERE (recipient, sender) IN (
		SELECT recipient, sender FROM requests WHERE expires <= $1 LIMIT $2) AND expires <= $1`, nanoseconds(now))
	if err != nil {
		return n, fmt.Errorf("sweep requests: %w", err)
	}
	return n, nil
}

// sweep runs a statement that deletes up to $2 rows that have expired at $1,
// until it finds fewer, and returns how many there were.
func (s *Store) sweep(ctx context.Context, sql string, now int64) (total int, err error) {
	for {
		n := 0
		err := s.once(ctx, func(ctx context.Context, c *change) error {
			tag, err := c.Exec(ctx, sql, now, sweepStep)
			n = int(tag.RowsAffected())
			c.idle = n == 0
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; n < sweepStep {
			return total, nil
		}
	}
}
