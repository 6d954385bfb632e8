package records

import (
	"context"
	"maps"
	"slices"

	"github.com/respawnd/respawnd/storage/copying"
	"github.com/respawnd/respawnd/storage/engine"
)

// Layout returns what an engine knows of the records.
func Layout() engine.Layout {
	return engine.Layout{
		Version: version,
		Tables:  slices.Sorted(maps.Keys(declared)),
		First:   func(t engine.Table) bool { return declared[t].trait == atStart },
		Check: func(t engine.Table, key, value []byte) (lost bool, err error) {
			d, known := declared[t]
			if !known {
				return false, nil // of a later version
			}
			return d.check(key, value)
		},
	}
}

// Strict returns the tables whose numbers must be in the order of the steps of all daemons,
// without ones that a daemon took in advance: ids tell whether a record was deleted, and
// entries of the audit log are read by their numbers.
func Strict() []engine.Table {
	return []engine.Table{tableUserIDs, tableProfileIDs, tableFileIDs, tableAudit, tableFences}
}

// check is the Check of a layout for a table.
func (f form) check(key, value []byte) (lost bool, err error) {
	switch f {
	case recordForm:
		if err := checkKey(key, value); err != nil {
			return true, err
		}
		_, err = unseal(key, value)
	case listForm:
		_, err = unseal(key, value)
	case entryForm, partForm:
		_, err = engine.Unseal(key, value)
	case noForm:
	}
	return err != nil && f == entryForm, err
}

// CopyMark returns the source of the copy into this store that was interrupted, "" if there
// is none.
func (s *Store) CopyMark(ctx context.Context) (string, error) {
	return copying.Unfinished(ctx, s.eng)
}

// CopiedTables returns the tables of which a copy consists: all but those of daemons that
// share a database. The contents of files are copied by other ways, because a lone daemon
// has them in a folder.
func CopiedTables() []engine.Table {
	return slices.DeleteFunc(Layout().Tables, func(t engine.Table) bool { return declared[t].trait == ofDaemons })
}

// flag is one byte of a content: 1 if on.
func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// version is the number of the layout. Schemas 1 to 7 were those of storage/bolt.
const version = 9
