package records

import "github.com/respawnd/respawnd/storage/engine"

// The tables. Those of ids hold nothing: their numbers are the ids.
const (
	tableServers     engine.Table = "servers"
	tableGames       engine.Table = "games"
	tableRooms       engine.Table = "rooms"
	tableRoomsByGame engine.Table = "rooms_by_game"
	tableBans        engine.Table = "bans"
	tableChatRules   engine.Table = "chat_rules"
	tableProductKeys engine.Table = "product_keys"
	tableMotds       engine.Table = "motds"
	tablePatches     engine.Table = "patches"
	tablePlayReports engine.Table = "play_reports"

	tableFiles        engine.Table = "files"
	tableFilesByOwner engine.Table = "files_by_owner"
	tableFilesByHash  engine.Table = "files_by_hash"
	tableFileUsage    engine.Table = "file_usage"
	tableFileIDs      engine.Table = "file_ids"

	tableAddedServers  engine.Table = "added_servers"
	tableHiddenServers engine.Table = "hidden_servers"

	tableUsers        engine.Table = "users"
	tableUsersByEmail engine.Table = "users_by_email"
	tableUserIDs      engine.Table = "user_ids"
	tableProfiles     engine.Table = "profiles"
	tableProfileIDs   engine.Table = "profile_ids"
	tableNicks        engine.Table = "nicks"
	tableUniqueNicks  engine.Table = "uniquenicks"
	tableCDKeys       engine.Table = "cdkeys"
	tableFoundBy      engine.Table = "found_by"

	tableBuddies      engine.Table = "buddies"
	tableBuddyOf      engine.Table = "buddy_of"
	tableBlocks       engine.Table = "blocks"
	tableBlockedBy    engine.Table = "blocked_by"
	tableRequests     engine.Table = "requests"
	tableRequestsFrom engine.Table = "requests_from"
	tableMailboxes    engine.Table = "mailboxes"

	tableSakeTables  engine.Table = "sake_tables"
	tableSakeRecords engine.Table = "sake_records"
	tableSakeByOwner engine.Table = "sake_by_owner"
	tableSakeRatings engine.Table = "sake_ratings"
	tableSakeMeta    engine.Table = "sake_meta"

	tableAudit        engine.Table = "audit"
	tableAuditPlayers engine.Table = "audit_players"

	tableStatBlocks engine.Table = "stat_blocks"
	tableStatSums   engine.Table = "stat_sums"
	tableReports    engine.Table = "reports"
	tableReportsOf  engine.Table = "reports_of"
	tableReportRuns engine.Table = "report_runs"
	tableScores     engine.Table = "scores"
	tableRanks      engine.Table = "ranks"
	tableRankChunks engine.Table = "rank_chunks"

	tableMatches      engine.Table = "matches"
	tableMatchesOf    engine.Table = "matches_of"
	tableMatchesOpen  engine.Table = "matches_open"
	tableMatchPlayers engine.Table = "match_players"

	tableCounts engine.Table = "counts" // see counts.go
	tableMarks  engine.Table = "marks"  // see rooms.go and layout.go
)

// The tables of daemons that share a database.
//
//	table          key                        value
//	revisions      name in package storage    number of changes of a table (8 bytes)
//	runs           run (8 bytes)              1 if it was ended, else 0, and the node
//	beats          run                        numbers of beats and messages (8 bytes each), receivers of the last ones
//	sessions       user id                    the sessions of the user, see sessionrows.go
//	sessions_of    run, id (8 bytes each)     user id, profile id
//	displaced      run, id                    empty: the session was displaced
//	ends           fence (8 bytes)            user id, profile id, reason (1 byte)
//	grants         kind (1 byte), digest      grant, see grants.go
//	grants_of      profile id, kind, number   digest
//	content_heads  hash (32 bytes)            head of a content, see contents.go
//	contents       hash, part (4 bytes)       part of a content
//	keys           name of a key              its fingerprint
//
// The table fences holds nothing: its numbers are runs and fences.
const (
	tableRevisions    engine.Table = "revisions"
	tableFences       engine.Table = "fences"
	tableRuns         engine.Table = "runs"
	tableBeats        engine.Table = "beats"
	tableSessions     engine.Table = "sessions"
	tableSessionsOf   engine.Table = "sessions_of"
	tableDisplaced    engine.Table = "displaced"
	tableEnds         engine.Table = "ends"
	tableGrants       engine.Table = "grants"
	tableGrantsOf     engine.Table = "grants_of"
	tableContents     engine.Table = "contents"
	tableContentHeads engine.Table = "content_heads"
	tableKeys         engine.Table = "keys"
)
