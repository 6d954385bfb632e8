package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// sqlProfileRow are the columns that scanProfile reads.
const sqlProfileRow = `id, user_id, rev, doc`

func scanProfile(row pgx.Row, p *storage.Profile) error {
	var id storage.ProfileID
	var user storage.UserID
	var rev storage.Rev
	var doc []byte
	if err := row.Scan(&id, &user, &rev, &doc); err != nil {
		return err
	}
	err := decode(doc, p, "profile", id)
	p.ID, p.User, p.Rev = id, user, rev
	return err
}

// profileColumns are the columns of a profile, and its rows in other tables.
type profileColumns struct {
	nick, firstName, lastName []byte
	icq                       int32
	doc                       []byte

	namespaces []int32 // of unique nicks
	keys       [][]byte
	games      []string // of CD keys
	digests    []string
}

// columnsOf returns the columns of a profile in canonical form.
func columnsOf(p storage.Profile) (profileColumns, error) {
	folded := func(s string) []byte { return []byte(storage.Fold(s)) }
	c := profileColumns{nick: folded(p.Nick), firstName: folded(p.FirstName), lastName: folded(p.LastName), icq: p.ICQ}
	for _, n := range p.UniqueNicks {
		c.namespaces = append(c.namespaces, int32(n.Namespace))
		c.keys = append(c.keys, []byte(n.Key))
	}
	for _, k := range p.CDKeys {
		digests := []string{k.Digest}
		if k.Hash != "" && k.Hash != k.Digest {
			digests = append(digests, k.Hash)
		}
		for _, d := range digests {
			c.games, c.digests = append(c.games, k.Game), append(c.digests, d)
		}
	}
	var err error
	c.doc, err = encode(p, "id", "user", "rev")
	return c, err
}

// A newProfile is a profile to insert.
type newProfile struct {
	profile storage.Profile // as requested
	columns profileColumns
	made    storage.Profile // result; without an id: nothing was inserted
}

// makeNewProfile returns a profile to insert, in canonical form.
func makeNewProfile(p storage.Profile) (n newProfile, err error) {
	if n.profile, err = p.Canonical(); err != nil {
		return n, err
	}
	n.columns, err = columnsOf(n.profile)
	return n, err
}

// queue queues the insertion of the profile with its unique keys, unless its user
// does not exist or has the maximum of profiles. A user of 0 is the one that the
// batch has just created.
func (n *newProfile) queue(b *pgx.Batch, user storage.UserID) {
	n.made = n.profile
	n.made.ID = 0
	c := &n.columns
	b.Queue(`
		WITH owner AS (
			SELECT id FROM users WHERE id = (SELECT coalesce(nullif($1::int, 0), currval('user_ids'))) -- once, not for each row
		), added AS (
			INSERT INTO profiles (id, user_id, nick, first_name, last_name, icq, rev, doc)
			SELECT coalesce(nullif($2::int, 0), nextval('profile_ids')), owner.id, $3, $4, $5, $6, nextval('revs'), $7
			FROM owner WHERE (SELECT count(*) FROM profiles WHERE user_id = owner.id) < $8
			RETURNING id, rev
		), named AS (
			INSERT INTO uniquenicks (namespace, key, profile)
			SELECT n.namespace, n.key, added.id FROM added, unnest($9::int[], $10::bytea[]) AS n (namespace, key)
			RETURNING 1
		), registered AS ( -- after the unique nicks, which are the error if both are taken
			INSERT INTO cdkeys (game, digest, profile)
			SELECT k.game, k.digest, added.id FROM added, unnest($11::text[], $12::text[]) AS k (game, digest)
			WHERE (SELECT count(*) FROM named) >= 0
		)
		SELECT id, rev FROM added`,
		user, n.profile.ID, c.nick, c.firstName, c.lastName, c.icq, c.doc, storage.MaxProfiles,
		c.namespaces, c.keys, c.games, c.digests).
		Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := rows.Scan(&n.made.ID, &n.made.Rev); err != nil {
					return err
				}
			}
			return rows.Err()
		})
}

// CreateProfile is described in [storage.Accounts].
func (s *Store) CreateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	n, err := makeNewProfile(p)
	if err != nil {
		return storage.Profile{}, err
	}
	user := n.profile.User
	err = s.once(ctx, func(ctx context.Context, c *change) error {
		c.id = uint32(user)
		if user == 0 {
			return storage.ErrNotFound
		}
		var exists, used bool
		b := &pgx.Batch{}
		b.Queue(`SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE`, user)
		b.Queue(`SELECT EXISTS (SELECT FROM users WHERE id = $1),
			(SELECT is_called AND $1 BETWEEN 1 AND last_value FROM user_ids)`, user).
			QueryRow(func(row pgx.Row) error { return row.Scan(&exists, &used) })
		queueLockIDs(b, p.ID != 0)
		n.queue(b, user)
		if p.ID != 0 {
			queueUsedID(b, "profile_ids", int64(p.ID))
		}
		switch err := c.SendBatch(ctx, b).Close(); {
		case err != nil:
			return err
		case !exists:
			return notThere(used)
		case n.made.ID == 0:
			return storage.ErrFull
		}
		return nil
	})
	if err != nil {
		return storage.Profile{}, fmt.Errorf("create profile of user %d: %w", user, err)
	}
	return n.made, nil
}

// GetProfile is described in [storage.Accounts].
func (s *Store) GetProfile(ctx context.Context, id storage.ProfileID) (p storage.Profile, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		err := scanProfile(q.QueryRow(ctx, `SELECT `+sqlProfileRow+` FROM profiles WHERE id = $1::bigint`, int64(id)), &p)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing(ctx, q, "profile_ids", int64(id))
		}
		return err
	})
	if err != nil {
		return storage.Profile{}, err
	}
	return p, nil
}

// ProfilesOf is described in [storage.Accounts].
func (s *Store) ProfilesOf(ctx context.Context, user storage.UserID) (all []storage.Profile, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		all = nil
		rows, err := q.Query(ctx, `SELECT `+sqlProfileRow+` FROM profiles WHERE user_id = $1::bigint ORDER BY nick`, int64(user))
		items, err := collect(rows, err, scanProfile)
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

// profileBy returns the profile that a query finds.
func (s *Store) profileBy(ctx context.Context, where string, args ...any) (p storage.Profile, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return scanProfile(q.QueryRow(ctx, `SELECT `+sqlProfileRow+` FROM profiles WHERE `+where, args...), &p)
	})
	if err != nil {
		return storage.Profile{}, err
	}
	return p, nil
}

// ProfileByNick is described in [storage.Accounts].
func (s *Store) ProfileByNick(ctx context.Context, user storage.UserID, nick string) (storage.Profile, error) {
	if len(nick) > storage.MaxNick {
		return storage.Profile{}, storage.ErrNotFound
	}
	return s.profileBy(ctx, `user_id = $1::bigint AND nick = $2`, int64(user), []byte(storage.Fold(nick)))
}

// ProfileByUniqueNick is described in [storage.Accounts].
func (s *Store) ProfileByUniqueNick(ctx context.Context, namespace int, key string) (storage.Profile, error) {
	if len(key) > storage.MaxUniqueNick {
		return storage.Profile{}, storage.ErrNotFound
	}
	return s.profileBy(ctx, `id = (SELECT profile FROM uniquenicks WHERE namespace = $1::bigint AND key = $2)`,
		int64(namespace), []byte(key))
}

// NamespacesOfUniqueNick is described in [storage.Accounts].
func (s *Store) NamespacesOfUniqueNick(ctx context.Context, key string) (namespaces []int, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT namespace FROM uniquenicks WHERE key = $1 ORDER BY namespace LIMIT $2`,
			[]byte(key), storage.MaxNickNamespaces)
		if err != nil {
			return err
		}
		namespaces, err = pgx.CollectRows(rows, pgx.RowTo[int])
		return err
	})
	if err != nil || len(namespaces) == 0 {
		return nil, err
	}
	return namespaces, nil
}

// ProfileByCDKey is described in [storage.Accounts].
func (s *Store) ProfileByCDKey(ctx context.Context, game, digest string) (storage.Profile, error) {
	if !isText(game) || !isText(digest) || len(game) > storage.MaxGameName || len(digest) > storage.MaxCDKeyDigest {
		return storage.Profile{}, storage.ErrNotFound
	}
	return s.profileBy(ctx, `id = (SELECT profile FROM cdkeys WHERE game = $1 AND digest = $2)`, game, digest)
}

// found returns the condition of an index of profiles for a value, and its
// argument; "": nothing has the value.
func found(by storage.ProfileIndex, value string) (where string, arg any) {
	if value == "" {
		return "", nil
	}
	folded := []byte(storage.Fold(value))
	switch by {
	case storage.ByNick:
		return `nick = $1`, folded
	case storage.ByFirstName:
		return `first_name = $1 AND first_name <> ''`, folded
	case storage.ByLastName:
		return `last_name = $1 AND last_name <> ''`, folded
	case storage.ByICQ:
		n, err := strconv.ParseInt(value, 10, 32)
		if err == nil && n != 0 && strconv.FormatInt(n, 10) == value {
			return `icq = $1 AND icq <> 0`, int32(n)
		}
	}
	return "", nil
}

// FindProfiles is described in [storage.Accounts].
func (s *Store) FindProfiles(ctx context.Context, by storage.ProfileIndex, value string,
) iter.Seq2[storage.Profile, error] {
	where, arg := found(by, value)
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Profile) ([]item[storage.Profile], error) {
		if where == "" {
			return nil, nil
		}
		var after storage.ProfileID
		if last != nil {
			after = last.ID
		}
		rows, err := q.Query(ctx, `SELECT `+sqlProfileRow+` FROM profiles WHERE `+where+` AND id > $2 ORDER BY id LIMIT $3`,
			arg, after, pageRecords)
		return collect(rows, err, scanProfile)
	})
}

// UpdateProfile is described in [storage.Accounts].
func (s *Store) UpdateProfile(ctx context.Context, p storage.Profile) (storage.Profile, error) {
	p, err := p.Canonical()
	if err != nil {
		return storage.Profile{}, err
	}
	columns, err := columnsOf(p)
	if err != nil {
		return storage.Profile{}, err
	}
	var rev storage.Rev
	err = s.once(ctx, func(ctx context.Context, c *change) (err error) {
		rev, err = updateProfile(ctx, c, p, &columns)
		return err
	})
	if err != nil {
		return storage.Profile{}, fmt.Errorf("profile %d: %w", p.ID, err)
	}
	p.Rev = rev
	return p, nil
}

// updateProfile replaces a profile and the rows of its unique keys that differ.
func updateProfile(ctx context.Context, q querier, p storage.Profile, c *profileColumns) (rev storage.Rev, err error) {
	var found, current, used bool
	var user *storage.UserID
	err = q.QueryRow(ctx, `
		WITH updated AS (
			UPDATE profiles SET nick = $4, first_name = $5, last_name = $6, icq = $7, rev = nextval('revs'), doc = $8
			WHERE id = $1 AND rev = $2 AND user_id = $3 RETURNING rev
		), names AS (
			SELECT * FROM unnest($9::int[], $10::bytea[]) AS n (namespace, key)
		), unnamed AS (
			DELETE FROM uniquenicks WHERE profile = $1 AND EXISTS (SELECT FROM updated)
				AND (namespace, key) NOT IN (SELECT namespace, key FROM names)
		), named AS (
			INSERT INTO uniquenicks (namespace, key, profile)
			SELECT namespace, key, $1 FROM names n WHERE EXISTS (SELECT FROM updated)
				AND NOT EXISTS (SELECT FROM uniquenicks o WHERE o.namespace = n.namespace AND o.key = n.key AND o.profile = $1)
			RETURNING 1
		), keys AS (
			SELECT * FROM unnest($11::text[], $12::text[]) AS k (game, digest)
		), unregistered AS (
			DELETE FROM cdkeys WHERE profile = $1 AND EXISTS (SELECT FROM updated)
				AND (game, digest) NOT IN (SELECT game, digest FROM keys)
		), registered AS (
			INSERT INTO cdkeys (game, digest, profile)
			SELECT game, digest, $1 FROM keys n WHERE EXISTS (SELECT FROM updated) AND (SELECT count(*) FROM named) >= 0
				AND NOT EXISTS (SELECT FROM cdkeys o WHERE o.game = n.game AND o.digest = n.digest AND o.profile = $1)
		)
		SELECT coalesce((SELECT rev FROM updated), 0), EXISTS (SELECT FROM profiles WHERE id = $1),
			EXISTS (SELECT FROM profiles WHERE id = $1 AND rev = $2), (SELECT user_id FROM profiles WHERE id = $1),
			(SELECT is_called AND $1 BETWEEN 1 AND last_value FROM profile_ids)`,
		p.ID, int64(p.Rev), p.User, c.nick, c.firstName, c.lastName, c.icq, c.doc, c.namespaces, c.keys, c.games, c.digests).
		Scan(&rev, &found, &current, &user, &used)
	switch {
	case err != nil:
		return 0, err
	case rev != 0:
		return rev, nil
	case !found:
		return 0, notThere(used)
	case current && user != nil && *user != p.User:
		return 0, fmt.Errorf("%w: a profile never changes its user", storage.ErrInvalid)
	}
	return 0, storage.ErrConflict
}

// DeleteProfile is described in [storage.Accounts].
func (s *Store) DeleteProfile(ctx context.Context, id storage.ProfileID) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		// The lock of the user lets one of several deletions at once see that it
		// is about to delete the last.
		if _, err := c.Exec(ctx, `SELECT FROM users WHERE id = (SELECT user_id FROM profiles WHERE id = $1::bigint)
			FOR UPDATE`, int64(id)); err != nil {
			return err
		}
		rows, err := c.Query(ctx, `SELECT id FROM profiles
			WHERE user_id = (SELECT user_id FROM profiles WHERE id = $1::bigint)`, int64(id))
		if err != nil {
			return err
		}
		all, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		switch {
		case err != nil:
			return err
		case !slices.Contains(all, int32(id)):
			return missing(ctx, c, "profile_ids", int64(id))
		case len(all) == 1:
			return storage.ErrLast
		}
		return dropProfiles(ctx, c, []int32{int32(id)})
	})
}
