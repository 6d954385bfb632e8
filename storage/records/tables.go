package records

import "github.com/respawnd/respawnd/storage/engine"

// A form is how the values of a table are checked.
type form int

const (
	recordForm form = iota // records, see value.go
	entryForm              // entries of an index, pairs and numbers, see engine.Seal
	listForm               // chunks of the saved list and its head: readers notice what is missing
	partForm               // sealed like entries, but readers know the keys and miss none
	noForm                 // empty: only the numbers of the table are used
)

// A trait is what else is known of a table.
type trait int

const (
	// atStart says that a daemon reads the table as a whole when it starts. A record that
	// such a table lacks, a ban for example, would be missing until the next start.
	atStart trait = iota + 1
	// ofDaemons says that the table is for daemons that share a database. What those hold
	// ends with the daemons, or follows from the data folder of the first one that starts.
	ofDaemons
)

type declaration struct {
	form
	trait
}

// declared has all tables.
var declared = make(map[engine.Table]declaration)

// declare returns a table of which all that is known is stated.
func declare(name engine.Table, f form, t trait) engine.Table {
	declared[name] = declaration{f, t}
	return name
}

// The tables: name, form, and in the comment key -> value. Ids of users, profiles, files and
// rooms have 4 bytes, other numbers 8 unless the comment says it.
var (
	tableServers     = declare("servers", listForm, 0)              // see serverlist.go
	tableGames       = declare("games", recordForm, atStart)        // name -> game
	tableRooms       = declare("rooms", recordForm, atStart)        // id -> room
	tableRoomsByGame = declare("rooms_by_game", entryForm, atStart) // game, NUL, id
	tableBans        = declare("bans", recordForm, atStart)         // family, address, bits, scope -> ban
	tableChatRules   = declare("chat_rules", recordForm, atStart)   // kind, profile or address, channel -> chat rule
	tableProductKeys = declare("product_keys", recordForm, atStart) // product (4 bytes), hash -> CD key
	tableMotds       = declare("motds", recordForm, atStart)        // game -> message of the day
	tablePatches     = declare("patches", recordForm, atStart)      // product (4 bytes), version -> patch
	tablePlayReports = declare("play_reports", recordForm, atStart) // day/game/reporter -> what a player said

	tableAddedServers  = declare("added_servers", recordForm, atStart)  // host:port -> server to be asked
	tableHiddenServers = declare("hidden_servers", recordForm, atStart) // address (4 or 16 bytes), port -> server that is hidden

	tableFiles        = declare("files", recordForm, 0)         // id -> file
	tableFileIDs      = declare("file_ids", noForm, 0)          // its numbers are the ids
	tableFilesByOwner = declare("files_by_owner", entryForm, 0) // owner, id
	tableFilesByHash  = declare("files_by_hash", entryForm, 0)  // hash (32 bytes), id
	tableFileUsage    = declare("file_usage", entryForm, 0)     // owner -> number and size of files

	tableUsers        = declare("users", recordForm, 0)         // id -> user
	tableUserIDs      = declare("user_ids", noForm, 0)          // its numbers are the ids
	tableUsersByEmail = declare("users_by_email", entryForm, 0) // partner (4 bytes), folded e-mail -> user id
	tableProfiles     = declare("profiles", recordForm, 0)      // id -> profile
	tableProfileIDs   = declare("profile_ids", noForm, 0)       // its numbers are the ids
	tableNicks        = declare("nicks", entryForm, 0)          // user id, folded nick -> profile id
	tableUniqueNicks  = declare("uniquenicks", entryForm, 0)    // namespace (4 bytes), key -> profile id, user id, which schema 7 had not
	tableCDKeys       = declare("cdkeys", entryForm, 0)         // game, NUL, digest or hash -> profile id
	tableFoundBy      = declare("found_by", entryForm, 0)       // index (1 byte), folded value, NUL, id

	tableBuddies      = declare("buddies", entryForm, 0)       // owner, buddy (ids)
	tableBuddyOf      = declare("buddy_of", entryForm, 0)      // buddy, owner
	tableBlocks       = declare("blocks", entryForm, 0)        // owner, other
	tableBlockedBy    = declare("blocked_by", entryForm, 0)    // other, owner
	tableRequests     = declare("requests", recordForm, 0)     // to, from -> request
	tableRequestsFrom = declare("requests_from", entryForm, 0) // from, to
	tableMailboxes    = declare("mailboxes", recordForm, 0)    // to -> messages that wait

	tableSakeTables  = declare("sake_tables", recordForm, 0)  // game, NUL, folded name of table -> number, columns
	tableSakeRecords = declare("sake_records", recordForm, 0) // table, id (4 bytes each) -> record in binary form, see storage.SakeRow
	tableSakeByOwner = declare("sake_by_owner", entryForm, 0) // owner, table, id
	tableSakeRatings = declare("sake_ratings", entryForm, 0)  // table, id, author -> rating (1 byte)
	tableSakeMeta    = declare("sake_meta", entryForm, 0)     // counts, numbers, see sakekeys.go

	tableAudit        = declare("audit", recordForm, 0)         // number -> entry of the audit log
	tableAuditPlayers = declare("audit_players", recordForm, 0) // likewise, of changes by players

	tableStatBlocks = declare("stat_blocks", recordForm, 0) // profile, game, NUL, index, kind -> data of a game for a player
	tableStatSums   = declare("stat_sums", entryForm, 0)    // profile or game -> number and size of records
	tableReports    = declare("reports", recordForm, 0)     // id -> game that a server reported
	tableReportsOf  = declare("reports_of", entryForm, 0)   // game, NUL, id
	tableReportRuns = declare("report_runs", entryForm, 0)  // game, NUL, connection, session -> report id
	tableScores     = declare("scores", recordForm, 0)      // profile, game, NUL, board -> score
	tableRanks      = declare("ranks", entryForm, 0)        // game, NUL, board, NUL, value, profile
	tableRankChunks = declare("rank_chunks", entryForm, 0)  // likewise, of the first of a chunk -> number of ranks in the chunk

	tableMatches      = declare("matches", recordForm, 0)      // id -> match of the competition service
	tableMatchesOf    = declare("matches_of", entryForm, 0)    // game, NUL, inverted id
	tableMatchesOpen  = declare("matches_open", entryForm, 0)  // id: reports are missing
	tableMatchPlayers = declare("match_players", entryForm, 0) // profile, id

	tableCounts = declare("counts", entryForm, 0)      // name, NUL, part (1 byte) -> part of a count, see counts.go
	tableMarks  = declare("marks", entryForm, atStart) // room -> id given out last; copy -> which copy is not complete; post/place -> number of a message

	tableRevisions    = declare("revisions", entryForm, ofDaemons)     // name in package storage -> number of changes of a table
	tableFences       = declare("fences", noForm, ofDaemons)           // its numbers are runs and fences
	tableRuns         = declare("runs", entryForm, ofDaemons)          // run -> 1 if it was ended, else 0, and the node
	tableBeats        = declare("beats", entryForm, ofDaemons)         // run -> numbers of beats and messages, receivers of the last ones
	tableSessions     = declare("sessions", entryForm, ofDaemons)      // user id -> the sessions of the user, see sessionrows.go
	tableSessionsOf   = declare("sessions_of", entryForm, ofDaemons)   // run, id -> user id, profile id
	tableDisplaced    = declare("displaced", entryForm, ofDaemons)     // run, id: the session was displaced
	tableEnds         = declare("ends", entryForm, ofDaemons)          // fence -> user id, profile id, reason (1 byte)
	tableGrants       = declare("grants", entryForm, ofDaemons)        // kind (1 byte), digest -> grant, see grants.go
	tableGrantsOf     = declare("grants_of", entryForm, ofDaemons)     // profile id, kind, number -> digest
	tableContents     = declare("contents", partForm, ofDaemons)       // hash, part (4 bytes) -> part of a content
	tableContentHeads = declare("content_heads", entryForm, ofDaemons) // hash (32 bytes) -> head of a content, see contents.go
	tableKeys         = declare("keys", entryForm, ofDaemons)          // name of a key -> its fingerprint
)
