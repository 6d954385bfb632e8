package postgres

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

func scanBan(row pgx.Row, b *storage.Ban) error {
	var prefix netip.Prefix
	var scope int16
	var doc []byte
	if err := row.Scan(&prefix, &scope, &doc); err != nil {
		return err
	}
	err := decode(doc, b, "ban", prefix)
	b.Prefix, b.Scope = prefix, storage.Scope(scope)
	return err
}

// AddBan is described in [storage.Bans].
func (s *Store) AddBan(ctx context.Context, b storage.Ban) error {
	b, err := b.Canonical()
	if err != nil {
		return err
	}
	prefix := netip.PrefixFrom(b.Prefix.Addr().WithZone(""), b.Prefix.Bits())
	doc, err := encode(b, "prefix", "scope")
	if err != nil {
		return err
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		_, err := c.Exec(ctx, `INSERT INTO bans (prefix, scope, expires, doc) VALUES ($1, $2, $3, $4)
			ON CONFLICT (prefix, scope) DO UPDATE SET expires = excluded.expires, doc = excluded.doc`,
			prefix, int16(b.Scope), expiry(b.Expires), doc)
		return err
	})
}

// RemoveBan is described in [storage.Bans].
func (s *Store) RemoveBan(ctx context.Context, prefix netip.Prefix, scope storage.Scope) (n int, err error) {
	prefix, err = storage.CanonicalPrefix(prefix)
	if err != nil {
		return 0, err
	}
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		tag, err := c.Exec(ctx, `DELETE FROM bans WHERE prefix = $1 AND (scope = $2 OR $2 = $3)`,
			prefix, int16(scope), int16(storage.EveryScope))
		n = int(tag.RowsAffected())
		c.idle = n == 0
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("remove ban %v: %w", prefix, err)
	}
	return n, nil
}

// Bans is described in [storage.Bans].
func (s *Store) Bans(ctx context.Context) iter.Seq2[storage.Ban, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Ban) ([]item[storage.Ban], error) {
		if last == nil {
			rows, err := q.Query(ctx, `SELECT prefix, scope, doc FROM bans ORDER BY prefix, scope LIMIT $1`, pageRecords)
			return collect(rows, err, scanBan)
		}
		rows, err := q.Query(ctx, `SELECT prefix, scope, doc FROM bans WHERE (prefix, scope) > ($1::cidr, $2::smallint)
			ORDER BY prefix, scope LIMIT $3`, last.Prefix, int16(last.Scope), pageRecords)
		return collect(rows, err, scanBan)
	})
}

// SweepBans is described in [storage.Bans].
func (s *Store) SweepBans(ctx context.Context, now time.Time) (n int, err error) {
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		tag, err := c.Exec(ctx, `DELETE FROM bans WHERE expires <= $1 AND expires < $2`, nanoseconds(now), expiry(time.Time{}))
		n = int(tag.RowsAffected())
		c.idle = n == 0
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep bans: %w", err)
	}
	return n, nil
}
