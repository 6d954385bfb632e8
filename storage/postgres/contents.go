package postgres

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

var _ storage.Contents = (*Store)(nil)

// PutContent is described in [storage.Contents].
func (s *Store) PutContent(ctx context.Context, hash string, content io.ReaderAt, size int64) error {
	raw, err := openHash(hash)
	if err != nil {
		return err
	}
	if size < 0 || size > storage.MaxFileSize {
		return fmt.Errorf("%w: a content of %d bytes", storage.ErrInvalid, size)
	}
	err = errContentGone
	for try := 0; errors.Is(err, errContentGone) && try < maxTries; try++ {
		err = s.putContent(ctx, raw, content, size)
	}
	return err
}

// errContentGone means that a content was removed between two statements.
var errContentGone = errors.New("the content was removed meanwhile")

func (s *Store) putContent(ctx context.Context, raw []byte, content io.ReaderAt, size int64) error {
	return s.write(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) error {
		// It waits for a DropContent or another PutContent of the same content.
		tag, err := c.Exec(ctx, `INSERT INTO file_contents (hash, size) VALUES ($1, $2) ON CONFLICT DO NOTHING`, raw, size)
		if err != nil {
			return err
		}
		if tag.RowsAffected() > 0 {
			return putParts(ctx, c, raw, content, size)
		}
		var there bool
		err = c.QueryRow(ctx, `SELECT true FROM file_contents WHERE hash = $1 FOR KEY SHARE`, raw).Scan(&there)
		if noRows(err) {
			return errContentGone
		}
		return err
	})
}

// putParts stores the parts of a content.
func putParts(ctx context.Context, q querier, hash []byte, content io.ReaderAt, size int64) error {
	buf := make([]byte, min(size, storage.ContentPart))
	for at := int64(0); at < size; at += storage.ContentPart {
		part := buf[:min(size-at, storage.ContentPart)]
		if n, err := content.ReadAt(part, at); n < len(part) {
			return fmt.Errorf("read the content: %w", err)
		}
		if _, err := q.Exec(ctx, `INSERT INTO file_parts (hash, part, data) VALUES ($1, $2, $3)`, hash, at/storage.ContentPart, part); err != nil {
			return err
		}
	}
	return nil
}

// ContentPart is described in [storage.Contents].
func (s *Store) ContentPart(ctx context.Context, hash string, part int) (data []byte, err error) {
	raw, err := openHash(hash)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		return q.QueryRow(ctx, `SELECT coalesce((SELECT data FROM file_parts WHERE hash = $1 AND part = $2), '') FROM file_contents WHERE hash = $1`,
			raw, part).Scan(&data)
	})
	if err != nil {
		return nil, err
	}
	return orNil(data), nil
}

// DropContent is described in [storage.Contents].
func (s *Store) DropContent(ctx context.Context, hash string) (dropped bool, err error) {
	raw, err := openHash(hash)
	if err != nil {
		return false, err
	}
	err = s.write(storage.WithoutAudit(ctx), func(ctx context.Context, c *change) error {
		var b pgx.Batch
		// Locked first: the second statement sees all files that were stored until then.
		b.Queue(`SELECT FROM file_contents WHERE hash = $1 FOR UPDATE`, raw)
		b.Queue(`WITH gone AS (DELETE FROM file_contents WHERE hash = $1 AND NOT EXISTS (SELECT FROM files WHERE hash = $1) RETURNING 1)
			SELECT EXISTS (SELECT FROM gone)`, raw).QueryRow(func(row pgx.Row) error { return row.Scan(&dropped) })
		return c.SendBatch(ctx, &b).Close()
	})
	return dropped && err == nil, err
}

// Contents is described in [storage.Contents].
func (s *Store) Contents(ctx context.Context) iter.Seq2[storage.Content, error] {
	return iterate(ctx, s, func(ctx context.Context, q querier, last *storage.Content) ([]item[storage.Content], error) {
		from := []byte{}
		if last != nil {
			from, _ = hex.DecodeString(last.Hash) // it came from a row
		}
		rows, err := q.Query(ctx, `SELECT hash, size, EXISTS (SELECT FROM files AS f WHERE f.hash = c.hash)
			FROM file_contents AS c WHERE hash > $1 ORDER BY hash LIMIT $2`, from, pageRecords)
		return collect(rows, err, func(row pgx.Row, c *storage.Content) error {
			var hash []byte
			err := row.Scan(&hash, &c.Size, &c.Used)
			c.Hash = hex.EncodeToString(hash)
			return err
		})
	})
}
