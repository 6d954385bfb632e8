package records

import (
	"context"
	"slices"

	"github.com/respawnd/respawnd/storage/copying"
	"github.com/respawnd/respawnd/storage/engine"
)

// CopyMarks seals marks of copies as entries.
func CopyMarks() copying.Marks { return copying.Marks{Seal: sealEntry, Open: openEntry} }

// CopyMark returns the source of the copy into this store that was interrupted, "" if there
// is none.
func (s *Store) CopyMark(ctx context.Context) (string, error) {
	return CopyMarks().Unfinished(ctx, s.eng)
}

// CopiedTables returns the tables of which a copy consists: all but those of daemons that
// share a database. What those hold ends with the daemons, or follows from the data folder
// of the first one that starts; the contents of files are copied by other ways, because a
// lone daemon has them in a folder.
func CopiedTables() []engine.Table { return slices.DeleteFunc(Layout().Tables, ofDaemons) }

// ofDaemons reports whether a table is one of daemons that share a database.
func ofDaemons(t engine.Table) bool {
	switch t {
	case tableRevisions, tableFences, tableRuns, tableBeats, tableSessions, tableSessionsOf, tableDisplaced, tableEnds,
		tableGrants, tableGrantsOf, tableContents, tableContentHeads, tableKeys:
		return true
	}
	return false
}
