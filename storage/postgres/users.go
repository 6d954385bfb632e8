package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// lockIDs is the advisory lock of the sequences of ids. Steps that take the next
// id share it; an import, which moves a sequence behind the id that it brings, has
// it alone.
const lockIDs = 1

// sqlUserRow are the columns that scanUser reads.
const sqlUserRow = `id, rev, doc`

func scanUser(row pgx.Row, u *storage.User) error {
	var id storage.UserID
	var rev storage.Rev
	var doc []byte
	if err := row.Scan(&id, &rev, &doc); err != nil {
		return err
	}
	err := decode(doc, u, "user", id)
	u.ID, u.Rev = id, rev
	return err
}

// encodeUser returns the doc of a user.
func encodeUser(u storage.User) ([]byte, error) { return encode(u, "id", "rev") }

// missing returns the error for a user or profile that is not there: ErrDeleted
// if its id was given out, ErrNotFound if it never was.
func missing(ctx context.Context, q querier, sequence string, id int64) error {
	var used bool
	err := q.QueryRow(ctx, `SELECT is_called AND $1::bigint BETWEEN 1 AND last_value FROM `+sequence, id).Scan(&used)
	if err != nil {
		return err
	}
	return notThere(used)
}

func notThere(used bool) error {
	if used {
		return storage.ErrDeleted
	}
	return storage.ErrNotFound
}

// queueLockIDs queues the lock of ids: alone for an import.
func queueLockIDs(b *pgx.Batch, alone bool) {
	if alone {
		b.Queue(`SELECT pg_advisory_xact_lock($1, $2)`, lockClass, lockIDs)
	} else {
		b.Queue(`SELECT pg_advisory_xact_lock_shared($1, $2)`, lockClass, lockIDs)
	}
}

// queueUsedID queues that a sequence continues behind an id.
func queueUsedID(b *pgx.Batch, sequence string, id int64) {
	b.Queue(`SELECT setval('`+sequence+`', greatest($1::bigint, last_value)) FROM `+sequence, id)
}

// CreateUser is described in [storage.Accounts].
func (s *Store) CreateUser(ctx context.Context, u storage.User, first storage.Profile,
) (storage.User, storage.Profile, error) {
	user, profiles, err := s.ImportUser(ctx, u, []storage.Profile{first})
	if err != nil {
		return storage.User{}, storage.Profile{}, err
	}
	return user, profiles[0], nil
}

// ImportUser is described in [storage.Accounts].
func (s *Store) ImportUser(ctx context.Context, u storage.User, profiles []storage.Profile,
) (storage.User, []storage.Profile, error) {
	imp, err := newImport(u, profiles)
	if err != nil {
		return storage.User{}, nil, err
	}
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		err := c.SendBatch(ctx, imp.batch()).Close()
		c.id = uint32(imp.made.ID)
		return err
	})
	if err != nil {
		return storage.User{}, nil, fmt.Errorf("create user: %w", err)
	}
	all := make([]storage.Profile, len(imp.profiles))
	for i := range imp.profiles {
		all[i] = imp.profiles[i].made
		all[i].User = imp.made.ID
	}
	return imp.made, all, nil
}

// An importing is a new user with its profiles.
type importing struct {
	user     storage.User // as requested
	doc      []byte
	profiles []newProfile

	lastProfile int64 // the highest profile id that was requested; 0: none was
	mixed       bool  // some profiles have an id and others get one

	made storage.User // result
}

// newImport returns the user and the profiles in canonical form.
func newImport(u storage.User, profiles []storage.Profile) (*importing, error) {
	if n := len(profiles); n == 0 || n > storage.MaxProfiles {
		return nil, fmt.Errorf("%w: %d profiles, want 1 to %d", storage.ErrInvalid, n, storage.MaxProfiles)
	}
	u, err := u.Canonical()
	if err != nil {
		return nil, err
	}
	imp := &importing{user: u, profiles: make([]newProfile, len(profiles))}
	if imp.doc, err = encodeUser(u); err != nil {
		return nil, err
	}
	without := 0
	for i, p := range profiles {
		p.User = u.ID
		if imp.profiles[i], err = makeNewProfile(p); err != nil {
			return nil, err
		}
		imp.lastProfile = max(imp.lastProfile, int64(p.ID))
		if p.ID == 0 {
			without++
		}
	}
	imp.mixed = without > 0 && imp.lastProfile > 0
	return imp, nil
}

// batch returns the statements of the import.
func (imp *importing) batch() *pgx.Batch {
	b := &pgx.Batch{}
	imp.made = imp.user
	queueLockIDs(b, imp.user.ID != 0 || imp.lastProfile != 0)
	if imp.mixed {
		queueUsedID(b, "profile_ids", imp.lastProfile)
	}
	b.Queue(`INSERT INTO users (id, partner, email, rev, doc)
		VALUES (coalesce(nullif($1::int, 0), nextval('user_ids')), $2, $3, nextval('revs'), $4) RETURNING id, rev`,
		imp.user.ID, imp.user.Partner, storage.Fold(imp.user.Email), imp.doc).
		QueryRow(func(row pgx.Row) error { return row.Scan(&imp.made.ID, &imp.made.Rev) })
	for i := range imp.profiles {
		imp.profiles[i].queue(b, imp.user.ID)
	}
	// A sequence does not go back when the step fails, so these are the last.
	if imp.user.ID != 0 {
		queueUsedID(b, "user_ids", int64(imp.user.ID))
	}
	if imp.lastProfile != 0 {
		queueUsedID(b, "profile_ids", imp.lastProfile)
	}
	return b
}

// GetUser is described in [storage.Accounts].
func (s *Store) GetUser(ctx context.Context, id storage.UserID) (u storage.User, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		err := scanUser(q.QueryRow(ctx, `SELECT `+sqlUserRow+` FROM users WHERE id = $1::bigint`, int64(id)), &u)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing(ctx, q, "user_ids", int64(id))
		}
		return err
	})
	if err != nil {
		return storage.User{}, err
	}
	return u, nil
}

// UserByEmail is described in [storage.Accounts].
func (s *Store) UserByEmail(ctx context.Context, partner int, email string) (u storage.User, err error) {
	if len(email) > storage.MaxEmail || !isText(email) {
		return u, storage.ErrNotFound
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return scanUser(q.QueryRow(ctx, `SELECT `+sqlUserRow+` FROM users WHERE partner = $1::bigint AND email = $2`,
			partner, storage.Fold(email)), &u)
	})
	if err != nil {
		return storage.User{}, err
	}
	return u, nil
}

// UpdateUser is described in [storage.Accounts].
func (s *Store) UpdateUser(ctx context.Context, u storage.User) (storage.User, error) {
	u, err := u.Canonical()
	if err != nil {
		return storage.User{}, err
	}
	doc, err := encodeUser(u)
	if err != nil {
		return storage.User{}, err
	}
	var rev storage.Rev
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		var exists, used bool
		err := c.QueryRow(ctx, `
			WITH updated AS (
				UPDATE users SET partner = $3, email = $4, rev = nextval('revs'), doc = $5
				WHERE id = $1 AND rev = $2 RETURNING rev
			)
			SELECT coalesce((SELECT rev FROM updated), 0), EXISTS (SELECT FROM users WHERE id = $1),
				(SELECT is_called AND $1 BETWEEN 1 AND last_value FROM user_ids)`,
			u.ID, int64(u.Rev), u.Partner, storage.Fold(u.Email), doc).Scan(&rev, &exists, &used)
		switch {
		case err != nil:
			return err
		case rev != 0:
			return nil
		case exists:
			return storage.ErrConflict
		}
		return notThere(used)
	})
	if err != nil {
		return storage.User{}, fmt.Errorf("user %d: %w", u.ID, err)
	}
	u.Rev = rev
	return u, nil
}

// DeleteUser is described in [storage.Accounts].
func (s *Store) DeleteUser(ctx context.Context, id storage.UserID) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		var locked int64
		err := c.QueryRow(ctx, `SELECT id FROM users WHERE id = $1::bigint FOR UPDATE`, int64(id)).Scan(&locked)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing(ctx, c, "user_ids", int64(id))
		}
		if err != nil {
			return err
		}
		rows, err := c.Query(ctx, `SELECT id FROM profiles WHERE user_id = $1 ORDER BY id FOR UPDATE`, locked)
		if err != nil {
			return err
		}
		profiles, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err != nil {
			return err
		}
		if err := dropProfiles(ctx, c, profiles); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `DELETE FROM users WHERE id = $1`, locked)
		return err
	})
}

// Users is described in [storage.Accounts].
func (s *Store) Users(ctx context.Context, after storage.UserID) iter.Seq2[storage.User, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.User) ([]item[storage.User], error) {
		from := after
		if last != nil {
			from = last.ID
		}
		rows, err := q.Query(ctx, `SELECT `+sqlUserRow+` FROM users WHERE id > $1::bigint ORDER BY id LIMIT $2`,
			int64(from), pageRecords)
		return collect(rows, err, scanUser)
	})
}

// CountUsers is described in [storage.Accounts].
func (s *Store) CountUsers(ctx context.Context) (n int, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT count(*) FROM users`).Scan(&n)
	})
	return n, err
}
