package records

import (
	"slices"

	"github.com/respawnd/respawnd/storage/engine"
)

// A form is how the values of a table are checked.
type form int

const (
	recordForm form = iota // records, see value.go
	entryForm              // entries of an index, pairs and numbers, see entry.go
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
