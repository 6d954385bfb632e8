package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// messageColumns are the columns of messages to add, one array for each.
type messageColumns struct {
	senders []int64
	sizes   []int32
	expires []int64
	docs    []string
}

// messagesOf checks messages and returns their columns.
func messagesOf(messages []storage.Message) (c messageColumns, err error) {
	for _, m := range messages {
		if err := m.Check(); err != nil {
			return c, err
		}
		m.Sent = m.Sent.Round(0).UTC()
		doc, err := encode(m, "id", "from")
		if err != nil {
			return c, err
		}
		c.senders = append(c.senders, int64(m.From))
		c.sizes = append(c.sizes, int32(len(m.Text)))
		c.expires = append(c.expires, nanoseconds(m.Sent.Add(storage.MessageLife)))
		c.docs = append(c.docs, string(doc))
	}
	return c, nil
}

// Leave is described in [storage.Buddies].
func (s *Store) Leave(ctx context.Context, to storage.ProfileID, m storage.Message) error {
	columns, err := messagesOf([]storage.Message{m})
	if err != nil {
		return err
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		var there, room bool
		b := &pgx.Batch{}
		queueLockProfiles(b, to)
		b.Queue(`
			WITH waiting AS (
				SELECT count(*) AS n, coalesce(sum(size), 0) AS size, count(*) FILTER (WHERE sender = $2) AS of_sender
				FROM messages WHERE recipient = $1::bigint AND expires > $6 AND ($10 OR NOT doc @> '{"again": true}')
			), state AS (
				SELECT EXISTS (SELECT FROM profiles WHERE id = $1) AS there,
					n < $7 AND size + $3 <= $8 AND of_sender < $9 AS room
				FROM waiting
			), expired AS (
				DELETE FROM messages WHERE recipient = $1 AND expires <= $6
					AND EXISTS (SELECT FROM state WHERE there AND room)
			), added AS (
				INSERT INTO messages (recipient, id, sender, size, expires, doc)
				SELECT $1, nextval('message_ids'), $2, $3, $4, $5 FROM state WHERE there AND room
			)
			SELECT there, room FROM state`,
			int64(to), columns.senders[0], columns.sizes[0], columns.expires[0], columns.docs[0], nanoseconds(m.Sent),
			storage.MaxMessages, storage.MaxMessageBytes, storage.MaxMessagesFrom, m.Again).
			QueryRow(func(row pgx.Row) error { return row.Scan(&there, &room) })
		switch err := c.SendBatch(ctx, b).Close(); {
		case err != nil:
			return err
		case !there:
			return fmt.Errorf("profile %d: %w", to, storage.ErrNotFound)
		case !room:
			return fmt.Errorf("messages for profile %d: %w", to, storage.ErrFull)
		}
		return nil
	})
}

// Return is described in [storage.Buddies].
func (s *Store) Return(ctx context.Context, to storage.ProfileID, messages []storage.Message) (n int, err error) {
	columns, err := messagesOf(messages)
	if err != nil {
		return 0, err
	}
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		var there bool
		b := &pgx.Batch{}
		queueLockProfiles(b, to)
		b.Queue(`
			WITH waiting AS (
				SELECT count(*) AS n, coalesce(sum(size), 0) AS size FROM messages WHERE recipient = $1::bigint
			), returned AS (
				SELECT *, sum(size) OVER (ORDER BY n) AS total
				FROM unnest($2::bigint[], $3::int[], $4::bigint[], $5::text[]) WITH ORDINALITY AS m (sender, size, expires, doc, n)
			), chosen AS (
				SELECT r.* FROM returned r, waiting w
				WHERE w.n + r.n <= $6 AND w.size + r.total <= $7 AND EXISTS (SELECT FROM profiles WHERE id = $1)
				ORDER BY r.n
			), added AS (
				INSERT INTO messages (recipient, id, sender, size, expires, doc)
				SELECT $1, nextval('message_ids'), sender, size, expires, doc::jsonb FROM chosen
				RETURNING 1
			)
			SELECT EXISTS (SELECT FROM profiles WHERE id = $1), (SELECT count(*) FROM added)`,
			int64(to), columns.senders, columns.sizes, columns.expires, columns.docs,
			storage.MaxReturned, storage.MaxReturnedBytes).
			QueryRow(func(row pgx.Row) error { return row.Scan(&there, &n) })
		switch err := c.SendBatch(ctx, b).Close(); {
		case err != nil:
			return err
		case !there:
			return fmt.Errorf("profile %d: %w", to, storage.ErrNotFound)
		}
		c.idle = n == 0
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func scanMessage(row pgx.Row, m *storage.Message) error {
	var id uint64
	var from int64
	var doc []byte
	if err := row.Scan(&id, &from, &doc); err != nil {
		return err
	}
	err := decode(doc, m, "message", id)
	m.ID, m.From = id, storage.ProfileID(from)
	return err
}

// Messages is described in [storage.Buddies].
func (s *Store) Messages(ctx context.Context, to storage.ProfileID, now time.Time) (all []storage.Message, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		all = nil
		rows, err := q.Query(ctx, `SELECT id, sender, doc FROM messages
			WHERE recipient = $1::bigint AND expires > $2 ORDER BY id`, int64(to), nanoseconds(now))
		items, err := collect(rows, err, scanMessage)
		for _, it := range items {
			if it.err != nil {
				return it.err
			}
			all = append(all, it.record)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// RemoveMessages is described in [storage.Buddies].
func (s *Store) RemoveMessages(ctx context.Context, to storage.ProfileID, ids []uint64) error {
	if len(ids) == 0 {
		return ctx.Err()
	}
	known := make([]int64, 0, len(ids))
	for _, id := range ids {
		if id <= math.MaxInt64 {
			known = append(known, int64(id))
		}
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		tag, err := c.Exec(ctx, `DELETE FROM messages WHERE recipient = $1::bigint AND id = ANY($2)`, int64(to), known)
		c.idle = tag.RowsAffected() == 0
		return err
	})
}

// CountMessages is described in [storage.Buddies].
func (s *Store) CountMessages(ctx context.Context) (messages, profiles int, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT count(*), count(DISTINCT recipient) FROM messages`).Scan(&messages, &profiles)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count messages: %w", err)
	}
	return messages, profiles, nil
}

// SweepMessages is described in [storage.Buddies].
func (s *Store) SweepMessages(ctx context.Context, now time.Time) (int, error) {
	n, err := s.sweep(ctx, `DELETE FROM messages WHERE (recipient, id) IN (
		SELECT recipient, id FROM messages WHERE expires <= $1 LIMIT $2)`, nanoseconds(now))
	if err != nil {
		return n, fmt.Errorf("sweep messages: %w", err)
	}
	return n, nil
}
