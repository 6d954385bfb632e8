package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// inserted returns the revision of the row that an INSERT ... ON CONFLICT DO
// NOTHING returned. Without a row the key of the index is taken.
func inserted(row pgx.Row, index string) (rev storage.Rev, err error) {
	if err := row.Scan(&rev); errors.Is(err, pgx.ErrNoRows) {
		return 0, &storage.TakenError{Index: index}
	} else if err != nil {
		return 0, err
	}
	return rev, nil
}

// updated returns the revision of an update that compares revisions. Its row has
// the new revision, 0 if nothing was updated, and whether the record exists.
func updated(row pgx.Row) (rev storage.Rev, err error) {
	var exists bool
	if err := row.Scan(&rev, &exists); err != nil {
		return 0, err
	}
	switch {
	case rev != 0:
		return rev, nil
	case exists:
		return 0, storage.ErrConflict
	}
	return 0, storage.ErrNotFound
}
