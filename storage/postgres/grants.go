package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

var _ storage.Grants = (*Store)(nil)

// AddGrant is described in [storage.Grants].
func (s *Store) AddGrant(ctx context.Context, g storage.Grant, most int) error {
	if err := g.Check(); err != nil {
		return err
	}
	return s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		var b pgx.Batch
		b.Queue(`INSERT INTO grants (kind, digest, profile, challenge, expires, once) VALUES ($1, $2, $3, $4, $5, $6)`,
			g.Kind, g.Digest[:], g.Profile, g.Challenge, nanoseconds(g.Expires), g.Once)
		b.Queue(`DELETE FROM grants WHERE profile = $1 AND kind = $2 AND seq <= (
			SELECT seq FROM grants WHERE profile = $1 AND kind = $2 ORDER BY seq DESC OFFSET $3 LIMIT 1)`, g.Profile, g.Kind, most)
		return inOne(ctx, c, &b, func(r pgx.BatchResults) error { return skip(r, 2) })
	})
}

// FindGrant is described in [storage.Grants].
func (s *Store) FindGrant(ctx context.Context, kind storage.GrantKind, digest [32]byte) (g storage.Grant, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		g = storage.Grant{Kind: kind, Digest: digest}
		var expires int64
		err := q.QueryRow(ctx, `SELECT profile, challenge, expires, once FROM grants WHERE kind = $1 AND digest = $2`, kind, digest[:]).
			Scan(&g.Profile, &g.Challenge, &expires, &g.Once)
		g.Expires = time.Unix(0, expires).UTC()
		return err
	})
	if err != nil {
		return storage.Grant{}, err
	}
	return g, nil
}

// UseGrant is described in [storage.Grants].
func (s *Store) UseGrant(ctx context.Context, kind storage.GrantKind, digest [32]byte) error {
	return s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		var there int
		return c.QueryRow(ctx, `
			WITH used AS (DELETE FROM grants WHERE kind = $1 AND digest = $2 AND once RETURNING 1)
			SELECT 1 FROM used UNION ALL SELECT 1 FROM grants WHERE kind = $1 AND digest = $2 AND NOT once`, kind, digest[:]).Scan(&there)
	})
}

// RevokeGrants is described in [storage.Grants].
func (s *Store) RevokeGrants(ctx context.Context, id storage.ProfileID) error {
	return s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		_, err := c.Exec(ctx, `DELETE FROM grants WHERE profile = $1`, id)
		return err
	})
}

// SweepGrants is described in [storage.Grants].
func (s *Store) SweepGrants(ctx context.Context, now time.Time) (n int, err error) {
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		c.idle = true
		tag, err := c.Exec(ctx, `DELETE FROM grants WHERE expires <= $1`, nanoseconds(now))
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
