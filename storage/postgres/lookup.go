package postgres

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/respawnd/respawnd/storage"
)

// lookup returns the text of a search for s: PostgreSQL refuses texts with NUL and those
// that are not UTF-8, which no stored name is.
func lookup(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	return "\x7f" // as a control character, it is in no name
}

// noRows reports that a statement of a step found no row.
func noRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// isMissing reports that a step found no record.
func isMissing(err error) bool { return errors.Is(err, storage.ErrNotFound) }
