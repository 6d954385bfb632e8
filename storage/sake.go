package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Limits of SAKE records. Callers may have lower ones.
const (
	MaxSakeName    = 64        // MaxSakeName is the longest name of a table or field in bytes.
	MaxSakeValue   = 1 << 20   // MaxSakeValue is the longest text of a value in bytes.
	MaxSakeFields  = 1000      // MaxSakeFields is the number of fields of a record.
	MaxSakeColumns = 1000      // MaxSakeColumns is the number of names of fields in a table.
	MaxSakeSize    = 4 << 20   // MaxSakeSize is the size of a record in its stored form.
	MaxSakeOwned   = 10_000    // MaxSakeOwned is the number of records of a profile in all tables.
	MaxSakeID      = 1<<31 - 1 // MaxSakeID is the highest id of a record: clients read signed numbers.
)

// The errors of SAKE records.
var (
	// ErrNoTable means that no record was ever stored in the table. It matches
	// ErrNotFound.
	ErrNoTable = fmt.Errorf("no such table: %w", ErrNotFound)
	// ErrNotOwner means that the record belongs to another profile.
	ErrNotOwner = errors.New("owned by another profile")
)

// SakeTableID identifies a table. Case does not distinguish names of tables.
type SakeTableID struct {
	Game string `json:"game"`
	Name string `json:"table"`
}

// Check returns an error that matches ErrInvalid for names that cannot be stored.
func (id SakeTableID) Check() error {
	return cmp.Or(checkName("game name", id.Game, MaxGameName), CheckSakeName("table", id.Name))
}

// CheckSakeName returns an error that matches ErrInvalid for a name of a table or field
// that is empty, longer than MaxSakeName or not of visible ASCII.
func CheckSakeName(what, name string) error {
	if name == "" || len(name) > MaxSakeName {
		return invalid("the name of a %s has 1 to %d characters", what, MaxSakeName)
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return invalid("the name of a %s has a character other than visible ASCII", what)
		}
	}
	return nil
}

// SakeColumn is the name of a field that occurs in a table, and the type it had in the
// record that was stored last.
type SakeColumn struct {
	Name string   `json:"name"`
	Type SakeType `json:"type"`
}

// SakeTable is a table with its columns. The number of a column in Columns never
// changes.
type SakeTable struct {
	SakeTableID

	Columns []SakeColumn `json:"columns"`
	Records int          `json:"records"`
	Bytes   int64        `json:"bytes"` // of the records in their stored form
}

// Column returns the number of the column with a name, ignoring case; -1 if there is
// none.
func (t *SakeTable) Column(name string) int {
	for i := range t.Columns {
		if sameSakeName(t.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}

func sameSakeName(a, b string) bool { return len(a) == len(b) && Fold(a) == Fold(b) }

// SakeField is one field of a record.
type SakeField struct {
	Name  string    `json:"name"`
	Value SakeValue `json:"value"`
}

// SakeRecord is a record. Names of its fields differ by more than case.
type SakeRecord struct {
	ID        uint32      `json:"id"`
	Owner     ProfileID   `json:"owner"`
	Created   time.Time   `json:"created"` // in seconds
	Changed   time.Time   `json:"changed"` // in seconds
	Ratings   int         `json:"ratings,omitzero"`
	RatingSum int64       `json:"rating_sum,omitzero"`
	Fields    []SakeField `json:"fields"`
}

// Field returns the value of a field, ignoring case.
func (r *SakeRecord) Field(name string) (SakeValue, bool) {
	for i := range r.Fields {
		if sameSakeName(r.Fields[i].Name, name) {
			return r.Fields[i].Value, true
		}
	}
	return SakeValue{}, false
}

// Merge replaces the values of the fields that r has and appends the others.
func (r *SakeRecord) Merge(fields []SakeField) {
	for _, f := range fields {
		found := false
		for i := range r.Fields {
			if sameSakeName(r.Fields[i].Name, f.Name) {
				r.Fields[i].Value, found = f.Value, true
				break
			}
		}
		if !found {
			r.Fields = append(r.Fields, f)
		}
	}
}

// CheckSakeFields returns an error that matches ErrInvalid for fields that a record
// cannot have.
func CheckSakeFields(fields []SakeField) error {
	if len(fields) > MaxSakeFields {
		return invalid("a record has at most %d fields", MaxSakeFields)
	}
	seen := make(map[string]bool, len(fields))
	for i := range fields {
		f := &fields[i]
		if err := CheckSakeName("field", f.Name); err != nil {
			return err
		}
		if err := f.Value.Check(); err != nil {
			return err
		}
		folded := Fold(f.Name)
		if seen[folded] {
			return invalid("the field %q is stated twice", f.Name)
		}
		seen[folded] = true
	}
	return nil
}

// SakeRating is the sum of the ratings of a record.
type SakeRating struct {
	Ratings int
	Sum     int64
}

// SakeCount is a number of records and their size in the stored form.
type SakeCount struct {
	Records int
	Bytes   int64
}

// SakeLimits are the highest numbers that may be stored; 0: the limits of this package.
// A step that would exceed one fails with ErrFull.
type SakeLimits struct {
	Fields     int   // fields of a record
	RecordSize int   // bytes of a record in its stored form
	PerOwner   int   // records of a profile in the table
	OwnerTotal int   // records of a profile in all tables
	OwnerBytes int64 // bytes of the records of a profile in all tables
	Tables     int   // tables of the game
	PerGame    int   // records of the game
	Total      int   // records of all games
	TotalBytes int64 // bytes of all records
}

// SakeScan selects the rows of a scan. The zero value selects all, in the order of their
// ids.
type SakeScan struct {
	Owners []ProfileID // only their records, in the order of owners and ids; none: all
	First  uint32      // the lowest id; ignored with Owners
	Rater  ProfileID   // whose rating rows have; 0: none
}

// OwnedSakeRecord is a record and its table.
type OwnedSakeRecord struct {
	SakeTableID
	SakeRecord
}

// Sake keeps SAKE records: games store them under the profile of a player.
//
// A table begins with its first record. Ids of records rise from 1 in every table and
// are never used twice, also not after the deletion of the record or the table.
// Deleting a profile deletes its records in the same step.
type Sake interface {
	// CreateSakeRecord stores a record and returns its id. The error is ErrNotFound
	// if there is no such profile, ErrFull for a limit.
	CreateSakeRecord(ctx context.Context, table SakeTableID, owner ProfileID, fields []SakeField, lim SakeLimits) (uint32, error)

	// ImportSakeRecord stores a record under the id that it states. The error is
	// ErrTaken if the table has such a record.
	ImportSakeRecord(ctx context.Context, r OwnedSakeRecord) error

	// UpdateSakeRecord merges fields into a record, see SakeRecord.Merge. The error
	// is ErrNoTable, ErrNotFound, ErrNotOwner if owner is neither 0 nor the owner, or
	// ErrFull for a limit.
	UpdateSakeRecord(ctx context.Context, table SakeTableID, id uint32, owner ProfileID, fields []SakeField, lim SakeLimits) error

	// DeleteSakeRecord removes a record. The errors are those of UpdateSakeRecord.
	DeleteSakeRecord(ctx context.Context, table SakeTableID, id uint32, owner ProfileID) error

	// DeleteSakeTable removes a table and its records, some of them in each step. It
	// returns how many it removed.
	DeleteSakeTable(ctx context.Context, table SakeTableID) (int, error)

	// RateSakeRecord adds the rating of a profile to a record, 0 to 255. The error is
	// ErrNoTable, ErrNotFound, or ErrTaken if the profile has rated it already.
	RateSakeRecord(ctx context.Context, table SakeTableID, id uint32, rater ProfileID, rating int) (SakeRating, error)

	// SakeRatings returns the ratings of a profile for some records; -1: none.
	SakeRatings(ctx context.Context, table SakeTableID, rater ProfileID, ids []uint32) ([]int, error)

	// GetSakeTable returns a table. The error is ErrNoTable if there is none.
	GetSakeTable(ctx context.Context, table SakeTableID) (SakeTable, error)

	// SakeTables yields the tables of a game, or of all games if it is empty, in the
	// order of their names.
	SakeTables(ctx context.Context, game string) iter.Seq2[SakeTable, error]

	// SakeRecords returns the records with some ids, in that order. Those that do not
	// exist are missing.
	SakeRecords(ctx context.Context, table SakeTableID, ids []uint32) ([]SakeRecord, error)

	// ScanSake calls visit with rows of a table until it returns false. It reads them by
	// pages, each as of one moment. The row is valid only until visit returns;
	// visit may read its fields, which removes them. Rows that cannot
	// be read are left out.
	ScanSake(ctx context.Context, table SakeTableID, scan SakeScan, visit func(*SakeRow) bool) error

	// SakeOwned counts the records of a profile in a table, without reading them.
	SakeOwned(ctx context.Context, table SakeTableID, owner ProfileID) (SakeCount, error)

	// SakeOf yields the records of a profile, in the order of tables and ids.
	SakeOf(ctx context.Context, owner ProfileID) iter.Seq2[OwnedSakeRecord, error]

	// CountSake counts all records, without reading them.
	CountSake(ctx context.Context) (SakeCount, error)

	// SweepSake removes ratings whose record or author is gone, those of such authors from
	// the averages too, and returns how many.
	SweepSake(ctx context.Context) (int, error)
}
