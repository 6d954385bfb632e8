// Package web is the public side of the list over HTTP: one page for people and
// a JSON interface for tools. Both only read: nothing that a visitor sends
// changes anything, there are no accounts, no cookies and no scripts.
//
// # Paths
//
// Every path takes GET and HEAD. Errors under /api/ are {"error": "text"}.
//
//	/                             the list as a page; ?game= ?q= ?page=
//	/api/v1/servers               the list; see below
//	/api/v1/servers/{id}          one server with its rules, players and teams
//	/api/v1/servers/{id}/history  how many players it had in the last 24 hours
//	/api/v1/games                 the catalogue; ?active=1 leaves games without servers out
//	/api/v1/games/{name}          one game with the host names that it looks up
//	/api/v1/stats                 totals, version, uptime
//	/api/v1/events                what happens in the list; see below
//	/api/v1/openapi.json          all of this for programs
//
// The list is {"count", "total", "servers", "next"}: how many servers this answer
// has, how many there are, the servers, and the cursor of what follows if
// something does. The parameters, each at most once, others are refused:
//
//	game    servers of this game only
//	q       servers with this text in their name or map, whatever its case
//	sort    game (then players, most first), players, name or added (newest first);
//	        then by address; default game
//	limit   1 to 10000 servers; default 1000
//	cursor  "next" of an earlier answer: go on behind its last server
//	full    1: players and teams too
//
// A server is the object that appendServer writes. The keys of its rules, players
// and teams are those that it reported. What it said about its own network
// (localip0 and so on) is left out. An answer may be shorter than its limit if it
// would become too large; "next" is there then.
//
// Answers to requests that differ in nothing are shared for up to a second if
// the list does not change, their compressed form too. A server's last_seen may be
// that old; changes of the list show at once. The ETag of an answer changes when
// the list (with ?game=, the list of that game) does, not when servers were merely
// heard again.
//
// # Events
//
// The stream has server-sent events: added and changed with the server as in the
// list, removed with its id, game and address. What happens to one server within
// feedPause is one event. The id of an event is the run of the daemon and the
// serial of the change; a client that gives it back as Last-Event-ID goes on
// behind it. Where the change log does not reach back, or the id is of another run,
// the first event is reset: the list has to be read anew. The events of all streams
// are written once. There is a bound of streams in all and for each address, and a
// client that takes nothing for streamWrite is cut.
//
// # Visitors
//
// Bounds for each address are on connections, requests and streams. The address is
// that of the connection, unless that is a proxy which the operator named; see
// visitor.
//
// # Foreign text
//
// Names, maps and rules come from strangers. Text that is valid UTF-8 is kept,
// any other is read as Latin-1; characters that are invisible or change how the
// text around them is shown are dropped. See package clean.
//
// It is not the admin interface (package admin), it keeps nothing over a restart,
// and TLS is for a proxy in front of it.
package web
