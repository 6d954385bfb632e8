// Package api is the JSON interface of the daemon over HTTP, under /api/v1, and the
// list of servers as package web shows it.
//
//	/servers               the list; see below
//	/servers/{id}          one server with its rules, players and teams
//	/servers/{id}/history  how many players it had: 24 hours, 7 or 30 days
//	/games                 the catalogue; ?active=1 leaves games without servers out
//	/games/{name}          one game with the host names that it looks up
//	/stats                 totals, version, uptime
//	/stats/history         the totals over time, of all games or of one
//	/events                changes of the list; see below
//	/openapi.json          all of this for programs
//
// The list is {"count", "total", "servers", "next"}: how many servers this answer
// has, how many there are, the servers, and the cursor of the next ones if
// something does. The parameters, each at most once, others are refused:
//
//	game    servers of this game only
//	q       servers with this text in their name or map, whatever its case
//	players, peopled, open, country, address, player
//	        as in openapi.json: at least so many players, with players, without
//	        password, of a country, at an address, with a player of that name
//	sort    game (then players, most first), players, name or added (newest first);
//	        then by address; default game
//	limit   1 to 10000 servers; default 1000
//	cursor  "next" of an earlier answer: continue behind its last server
//	full    1: players and teams too
//	fields  only these members of servers, separated by commas
//
// A server is an object with the members that type field lists. The keys of its rules, players
// and teams are those that it reported. Rules about its own network (localip0 and so on) are left
// out. An answer may be shorter than its limit if it would become too large; "next" is there then.
//
// Answers to requests that differ in nothing are shared for up to a second if
// the list does not change, their compressed form too. When it does change, the records and texts
// of the other servers are used again. A server's last_seen may be that old; changes of the list
// show at once, or in a list of 2,000 servers within HoldFor. The ETag of an answer changes when
// the list (with ?game=, the list of that game) does, not when servers reported again without a
// change.
//
// # Events
//
// The stream has server-sent events: added and changed with the server as in the
// list, removed with its id, game and address. All changes of one server within feedPause are one
// event. The id of an event is the run of the daemon and the serial of the change; a client that
// gives it back as Last-Event-ID continues behind it. Where more than maxCatchUp changes lie
// between, or the id is of another run, the first event is reset: the list has to be read again.
// The events of all streams are written once. There is a bound of streams in all and for each
// address, and a client that takes nothing for streamWrite is cut.
//
// It is not the API of operators (package admin), and changes nothing.
package api
