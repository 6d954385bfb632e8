// Package web is the public side of the daemon over HTTP: pages for people and a
// JSON interface for tools. Both read the list and change nothing of it. Players
// look after their accounts on pages of their own, the only ones with cookies and
// with forms that change something.
//
// # Paths
//
// Every path takes GET and HEAD, those of forms POST. Errors under /api/ are
// {"error": "text"}.
//
//	/                             what runs, how to connect, the first servers
//	/servers                      the list; ?game= ?q= ?peopled=1 ?open=1 ?sort= ?page=
//	/servers/{id}                 one server, as it answers now or reported last
//	/games                        the catalogue; ?q=
//	/games/{name}                 one game with the lines for a hosts file; ?ip=
//	/games/{name}/hosts.txt       these lines as a file
//	/why                          what was decided about the visitor's own address
//	/account and below            accounts: log in, register, change, delete
//	/docs and below               what Options.Docs answers
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
// the list does not change, their compressed form too. When it does change, what
// was read and written of the other servers is used again. A server's last_seen may be
// that old; changes of the list show at once. The ETag of an answer changes when
// the list (with ?game=, the list of that game) does, not when servers were merely
// heard again.
//
// # Events
//
// The stream has server-sent events: added and changed with the server as in the
// list, removed with its id, game and address. What happens to one server within
// feedPause is one event. The id of an event is the run of the daemon and the
// serial of the change; a client that gives it back as Last-Event-ID continues
// behind it. Where more than maxCatchUp changes lie between, or the id is of another
// run, the first event is reset: the list has to be read again. The events of all streams
// are written once. There is a bound of streams in all and for each address, and a
// client that takes nothing for streamWrite is cut.
//
// # Pages
//
// Pages are whole without scripts; the one script that there is fetches a page
// again when the list changes and replaces the parts that have a data-live
// attribute. Nothing on a page is styled or scripted in place, so the content
// policy allows our own files and nothing else.
//
// The page of a server waits for the server for liveWait. Its chart is drawn here.
//
// # Accounts
//
// The rules are those of internal/accounts: an account made here signs in with
// games, and the other way round. Text of forms is turned into the bytes that games
// send, one per character. A session is a random token in a closed cookie
// (HttpOnly, SameSite=Strict, Secure and bound to the host where the public URL is
// https), kept in memory as its digest, ended by another password, a ban, two idle
// hours or a day.
//
// A form changes something only if it carries the token that belongs to the
// browser's cookie and comes from our own origin. Forms are bounded in size, by
// address and by account; failed passwords count as those of games do. With
// Policy.Private no answer tells whether an e-mail has an account; only making one,
// or moving one there, does, and both are rationed. What was changed is in the audit
// log of the store, with the number and a nick of the account and the address it
// came from, in the same step as the change.
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
