package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

const (
	fileColumns    = `id, game, owner, name, size, hash, created, downloads`
	fileColumnsOfF = `f.id, f.game, f.owner, f.name, f.size, f.hash, f.created, f.downloads`
)

// scanFile reads the columns fileColumns.
func scanFile(row pgx.Row, f *storage.File) error {
	var id, owner int64
	var hash []byte
	var created string
	if err := row.Scan(&id, &f.Game, &owner, &f.Name, &f.Size, &hash, &created, &f.Downloads); err != nil {
		return err
	}
	f.ID, f.Owner, f.Hash = storage.FileID(id), storage.ProfileID(owner), hex.EncodeToString(hash)
	var err error
	f.Created, err = openStamp(created)
	return err
}

// openHash returns the bytes of a hash.
func openHash(hash string) ([]byte, error) {
	if err := storage.CheckFileHash(hash); err != nil {
		return nil, err
	}
	return hex.DecodeString(hash)
}

// CreateFile is described in [storage.Files].
func (s *Store) CreateFile(ctx context.Context, f storage.File, owner, all storage.FileUsage) (storage.File, error) {
	f, err := f.Canonical()
	if err != nil {
		return storage.File{}, err
	}
	hash, err := openHash(f.Hash)
	if err != nil {
		return storage.File{}, err
	}
	all.Files = min(all.Files, storage.MaxFiles)
	err = s.write(ctx, func(ctx context.Context, c *change) error {
		var b pgx.Batch
		var there []storage.ProfileID
		var own, total storage.FileUsage
		id := int64(0)
		lockProfiles(&b, []storage.ProfileID{f.Owner}, &there)
		b.Queue(`INSERT INTO file_usage AS u (owner, files, bytes) SELECT id, 1, $2::bigint FROM profiles WHERE id = $1::bigint
			ON CONFLICT (owner) DO UPDATE SET files = u.files + 1, bytes = u.bytes + $2::bigint RETURNING files, bytes`, int64(f.Owner), f.Size).
			QueryRow(func(row pgx.Row) error { return unlessNoRows(row.Scan(&own.Files, &own.Bytes)) })
		b.Queue(`UPDATE file_totals SET last_id = last_id + 1, files = files + 1, bytes = bytes + $1 RETURNING last_id, files, bytes`, f.Size).
			QueryRow(func(row pgx.Row) error { return row.Scan(&id, &total.Files, &total.Bytes) })
		b.Queue(`INSERT INTO files (`+fileColumns+`) SELECT last_id, $1::text, u.owner, $3::text, $4::bigint, $5::bytea, $6::text, $7::bigint FROM file_totals, file_usage AS u
			WHERE u.owner = $2`, f.Game, int64(f.Owner), f.Name, f.Size, hash, stampOf(f.Created), f.Downloads)
		if err := c.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		switch {
		case len(there) == 0:
			return fmt.Errorf("profile %d: %w", f.Owner, storage.ErrNotFound)
		case !total.Within(all), !own.Within(owner), id > storage.MaxAccountID: // clients read ids as numbers of 32 bits with a sign
			return storage.ErrFull
		}
		f.ID = storage.FileID(id)
		return nil
	})
	if err != nil {
		return storage.File{}, fmt.Errorf("file of profile %d: %w", f.Owner, err)
	}
	return f, nil
}

func unlessNoRows(err error) error {
	if noRows(err) {
		return nil
	}
	return err
}

// missingFile returns why there is no file with an id.
func missingFile(ctx context.Context, q querier, id storage.FileID) error {
	var last int64
	if err := q.QueryRow(ctx, `SELECT last_id FROM file_totals`).Scan(&last); err != nil {
		return err
	}
	if id != 0 && int64(id) <= last {
		return storage.ErrDeleted
	}
	return storage.ErrNotFound
}

// GetFile is described in [storage.Files].
func (s *Store) GetFile(ctx context.Context, id storage.FileID) (f storage.File, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		f = storage.File{}
		err := scanFile(q.QueryRow(ctx, `SELECT `+fileColumns+` FROM files WHERE id = $1`, int64(id)), &f)
		if noRows(err) {
			return missingFile(ctx, q, id)
		}
		return err
	})
	if err != nil {
		return storage.File{}, err
	}
	return f, nil
}

// DeleteFile is described in [storage.Files].
func (s *Store) DeleteFile(ctx context.Context, id storage.FileID) error {
	return s.write(ctx, func(ctx context.Context, c *change) error {
		n, err := dropFiles(ctx, c, `id = $1`, int64(id))
		if err == nil && n == 0 {
			err = missingFile(ctx, c, id)
		}
		return err
	})
}

// dropFiles removes files of one profile and returns how many there were.
func dropFiles(ctx context.Context, q querier, which string, arg int64) (n int, err error) {
	err = q.QueryRow(ctx, `WITH gone AS (DELETE FROM files WHERE `+which+` RETURNING owner, size),
		less AS (SELECT owner, count(*) AS files, sum(size)::bigint AS bytes FROM gone GROUP BY owner),
		own AS (UPDATE file_usage AS u SET files = u.files - less.files, bytes = u.bytes - less.bytes FROM less
			WHERE u.owner = less.owner RETURNING less.files, less.bytes),
		total AS (UPDATE file_totals AS t SET files = t.files - own.files, bytes = t.bytes - own.bytes FROM own)
		SELECT coalesce(sum(files), 0) FROM less`, arg).Scan(&n)
	return n, err
}

// dropFilesOf removes the files of a profile. Their contents are removed by the next
// sweep.
func dropFilesOf(ctx context.Context, q querier, owner storage.ProfileID) error {
	if _, err := dropFiles(ctx, q, `owner = $1`, int64(owner)); err != nil {
		return err
	}
	_, err := q.Exec(ctx, `DELETE FROM file_usage WHERE owner = $1`, int64(owner))
	return err
}

// Files is described in [storage.Files].
func (s *Store) Files(ctx context.Context, after storage.FileID) iter.Seq2[storage.File, error] {
	return s.filePages(ctx, `$1 = 0::bigint`, 0, after)
}

// FilesOf is described in [storage.Files].
func (s *Store) FilesOf(ctx context.Context, owner storage.ProfileID) iter.Seq2[storage.File, error] {
	return s.filePages(ctx, `owner = $1`, owner, 0)
}

func (s *Store) filePages(ctx context.Context, which string, owner storage.ProfileID, after storage.FileID) iter.Seq2[storage.File, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.File) ([]item[storage.File], error) {
		from := after
		if last != nil {
			from = last.ID
		}
		rows, err := q.Query(ctx, `SELECT `+fileColumns+` FROM files WHERE `+which+` AND id > $2 ORDER BY id LIMIT $3`,
			int64(owner), int64(from), pageRecords)
		return collect(rows, err, scanFile)
	})
}

// FileUsage is described in [storage.Files].
func (s *Store) FileUsage(ctx context.Context, owner storage.ProfileID) (u storage.FileUsage, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		u = storage.FileUsage{}
		sql, args := `SELECT files, bytes FROM file_usage WHERE owner = $1`, []any{int64(owner)}
		if owner == 0 {
			sql, args = `SELECT files, bytes FROM file_totals`, nil
		}
		return unlessNoRows(q.QueryRow(ctx, sql, args...).Scan(&u.Files, &u.Bytes))
	})
	return u, err
}

// HasContent is described in [storage.Files].
func (s *Store) HasContent(ctx context.Context, hash string) (found bool, err error) {
	raw, err := openHash(hash)
	if err != nil {
		return false, err
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT EXISTS (SELECT FROM files WHERE hash = $1)`, raw).Scan(&found)
	})
	return found, err
}

// AddDownloads is described in [storage.Files].
func (s *Store) AddDownloads(ctx context.Context, counts map[storage.FileID]int64) error {
	ids := slices.Sorted(maps.Keys(counts))
	by := make([]int64, len(ids))
	for i, id := range ids {
		by[i] = counts[id]
	}
	return s.write(ctx, func(ctx context.Context, c *change) error {
		var b pgx.Batch
		b.Queue(`SELECT FROM files WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, bigints(ids))
		b.Queue(`UPDATE files AS f SET downloads = f.downloads + x.n FROM unnest($1::bigint[], $2::bigint[]) AS x (id, n)
			WHERE f.id = x.id RETURNING `+fileColumnsOfF, bigints(ids), by).Query(func(rows pgx.Rows) error {
			n := 0
			for ; rows.Next(); n++ {
				var f storage.File
				err := scanFile(rows, &f)
				if err == nil {
					_, err = f.Canonical()
				}
				if err != nil {
					return err
				}
			}
			c.idle = n == 0
			return rows.Err()
		})
		return c.SendBatch(ctx, &b).Close()
	})
}
