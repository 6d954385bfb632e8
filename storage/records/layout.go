package records

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/storage/copying"
	"github.com/respawnd/respawnd/storage/engine"
)

// A form is how the values of a table are checked.
type form int

const (
	recordForm form = iota // records, see value.go
	entryForm              // entries of an index, pairs and numbers, see sealEntry
	listForm               // chunks of the saved list and its head: readers notice what is missing
	partForm               // sealed like entries, but readers know the keys and miss none
	noForm                 // empty: only the numbers of the table are used
)

// forms returns all tables and their forms.
func forms() map[engine.Table]form {
	all := make(map[engine.Table]form)
	for form, tables := range map[form][]engine.Table{
		recordForm: {
			tableGames, tableRooms, tableBans, tableChatRules, tableProductKeys, tableMotds, tablePatches, tablePlayReports,
			tableAddedServers, tableHiddenServers, tableUsers, tableProfiles, tableRequests, tableMailboxes, tableFiles,
			tableSakeTables, tableSakeRecords, tableAudit, tableAuditPlayers,
			tableStatBlocks, tableReports, tableScores, tableMatches,
		},
		entryForm: {
			tableRoomsByGame, tableUsersByEmail, tableNicks, tableUniqueNicks, tableCDKeys, tableFoundBy,
			tableBuddies, tableBuddyOf, tableBlocks, tableBlockedBy, tableRequestsFrom,
			tableFilesByOwner, tableFilesByHash, tableFileUsage, tableSakeByOwner, tableSakeRatings, tableSakeMeta,
			tableStatSums, tableReportsOf, tableReportRuns, tableRanks, tableRankChunks,
			tableMatchesOf, tableMatchesOpen, tableMatchPlayers, tableCounts, tableMarks,
			tableRevisions, tableRuns, tableBeats, tableSessions, tableSessionsOf, tableDisplaced, tableEnds,
			tableGrants, tableGrantsOf, tableContentHeads, tableKeys,
		},
		listForm: {tableServers},
		partForm: {tableContents},
		noForm:   {tableUserIDs, tableProfileIDs, tableFileIDs, tableFences},
	} {
		for _, t := range tables {
			all[t] = form
		}
	}
	return all
}

// Layout returns what an engine knows of the records.
func Layout() engine.Layout {
	all := forms()
	layout := engine.Layout{Version: version, First: readAtStart}
	for t := range all {
		layout.Tables = append(layout.Tables, t)
	}
	slices.Sort(layout.Tables)
	layout.Check = func(t engine.Table, key, value []byte) (lost bool, err error) {
		form, known := all[t]
		if !known {
			return false, nil // of a later version
		}
		return form.check(key, value)
	}
	return layout
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
		_, err = unseal(value)
	case listForm:
		_, err = unseal(value)
	case entryForm, partForm:
		_, err = openEntry(key, value)
	case noForm:
	}
	return err != nil && f == entryForm, err
}

// readAtStart reports whether a daemon reads a table as a whole when it starts. A record
// that such a table lacks, a ban for example, would be missing until the next start. The
// saved list is left out: it has checksums of its own that show missing parts.
func readAtStart(t engine.Table) bool {
	switch t {
	case tableGames, tableRooms, tableRoomsByGame, tableBans, tableChatRules, tableProductKeys,
		tableMotds, tablePatches, tablePlayReports, tableAddedServers, tableHiddenServers, tableMarks:
		return true
	}
	return false
}

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
	return slices.Contains([]engine.Table{
		tableRevisions, tableFences, tableRuns, tableBeats, tableSessions, tableSessionsOf, tableDisplaced, tableEnds,
		tableGrants, tableGrantsOf, tableContents, tableContentHeads, tableKeys,
	}, t)
}

// The value of an entry of an index, of a pair and of a number is
// its content, which may be empty, and the CRC-32C of the key and the content,
// big-endian. The key holds the data of such an entry, so a changed key must be
// noticed.

// flag is one byte of a content: 1 if on.
func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// sealEntry returns the value of an entry.
func sealEntry(key, content []byte) []byte {
	sum := crc32.Update(checksum(key), castagnoli, content)
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, len(content)+crc32.Size), content...), sum)
}

// openEntry returns the content of an entry. It shares the memory of value.
func openEntry(key, value []byte) ([]byte, error) {
	n := len(value) - crc32.Size
	if n < 0 {
		return nil, fmt.Errorf("%w: %d bytes", storage.ErrDamaged, len(value))
	}
	if binary.BigEndian.Uint32(value[n:]) != crc32.Update(checksum(key), castagnoli, value[:n]) {
		return nil, fmt.Errorf("%w: checksum differs", storage.ErrDamaged)
	}
	return value[:n], nil
}
