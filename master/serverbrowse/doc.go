// Package serverbrowse answers the server browsers of games: the protocol that
// its clients call server browsing, version 2, on TCP port 28910. It sends lists
// of servers and rooms, tells everything about one server, keeps browsers
// informed of changes, looks for players, and passes messages on to servers.
//
// It is not for taking servers in (package qr2 and its siblings fill
// [master.Registry]), not for the older list protocol (package legacylist), and
// it does not decide which games, rooms or bans there are.
//
// # Connection
//
// The browser speaks first. Its messages are in the clear: a length of two
// bytes, big-endian and counting itself, a kind byte and a body. Several
// messages may share a segment and one message may be spread over many. The
// length is 3 to 4096.
//
//	kind  message         body
//	   0  list            see ListRequest
//	   1  info            address 4, port 2
//	   2  message         address 4, port 2, data for the server
//	   3  keepalive       echo of the master's keepalive
//	   4  map loop        address 4, port 2
//	   5  player search   see PlayerSearch
//
// The first message must be a list request, because it carries what the cipher
// is made of; with another one first, or with a game that has no secret, the
// connection is closed, for there is no way to answer. A browser that wants
// something else sends a list request with NoServerList and the other message
// right behind it. More list requests on one connection go on with the cipher.
//
// The master answers with a crypt header in the clear (package gamespy), and
// everything after it is enciphered in one stream that never starts again. The
// header's flags tell the browser how to query hosts, so they are those of the
// game whose servers it wants; if that game is unknown, those of its own.
//
// The connection stays open after the list, for the browser may ask for more
// and waits for updates. While it is quiet the master sends keepalives; two
// without an answer end it, and so does a silence as long as the options allow.
// The master never closes one direction only.
//
// # List
//
// The fixed header is the address of the client and the default query port of
// the game. If the port is 0xFFFF a text follows that says why there is no list;
// it begins with "Query Error: ". With NoServerList nothing follows. Otherwise:
//
//	1  number of keys; for each of them its type and its name, NUL-terminated
//	1  number of popular values; then the values, NUL-terminated
//	-  entries
//	5  the end: 00 FF FF FF FF
//
// An entry is laid out as described at appendEntryHead. Its values follow the
// key list. Under a key of type 1 or 2 a value is a number of one or two bytes,
// big-endian. Under a key of type 0 it is the index of a popular value, or FF
// and a NUL-terminated text. An absent port is the port of the fixed header.
//
// Which of these forms is used is the master's choice, and it makes lists
// small: a column is sent as numbers if every value is one that prints back the
// same, and whatever occurs twice is a popular value. A key whose type the record of
// the game states is of that type, or of a larger one if a number needs it: clients
// of the game read texts as texts and what is no number as 0. Every element must fit the
// client's buffer of 4096 bytes, so values of larger entries are cut, the
// longest first.
//
// A server that players are to reach directly (master.Server.Direct) has
// FlagReachable and comes without values, because the browser asks it at once;
// FieldsForAll changes that. Any other server has its values in the list, and FlagNATNeg if it can
// be reached by negotiation. FlagLocal carries its private address, which
// browsers behind the same public address use.
//
// With SendGroups the entries are rooms. The id of the room is in the place of
// the address, without a port, and all keys are texts.
//
// # Filter
//
// The filter language is that of package filter. A filter that it does not
// understand is ignored and logged, or refused with an error text if the options
// say so. One that is too long or too expensive is always refused.
//
// # After the list
//
// Messages of the master look like those of the browser:
//
//	kind  message      body
//	   1  key list     number of keys; type and name of each
//	   2  server       an entry whose texts are bare: no FF, no index
//	   3  keepalive    anything
//	   4  delete       address 4, port 2, always both
//	   5  map loop     see appendMapLoop
//	   6  players      see appendFound
//
// An info request is answered with a server entry of FlagRules that has all
// rules, the country and region, and teams and players as rules named player_0,
// team_t0 and so on. The answer about an unknown server is an entry without
// data; the client would wait for ever without one.
//
// A message for a server is passed on if the server is listed, within the rate
// of the connection. The browser hears nothing of it. The question for maps is
// answered with the rules mapname and nextmap; when the map changes is not known.
//
// With PushUpdates the list is followed by a key list of texts and then, as
// things change, by a server entry for every server that came or changed and a
// delete for every one that went or no longer matches the filter. These entries
// always carry their values: without them the client would take the update for
// a failed one. A result limit cuts the list alone and not what follows. While
// Options.MaxFollowed different lists are followed, or too many servers are on
// them, a browser that asks for another one gets the list and no updates until
// its next request; that is logged and counted.
//
// # How it is done
//
// Requests for the same game, filter and fields share a view: the finished bytes
// of the list. A view is built when it is wanted and the game has changed, but not
// again for a tenth of a millisecond per server of the game beyond the first
// hundred, and at most 100 milliseconds: a short list is always current, a long
// one is built at most ten times a second. Connections encipher a view in pieces,
// so a slow reader holds no copy of it. See view and package views.
//
// Players are found in an index of the names of a game, which is made when a client
// searches and is a second old at most. The searches of one address, over all its
// connections, have a budget of bytes of names that they look at, for a tenth of a
// processor; one that is over it is answered with no player found, and counted. See
// nameIndex.
//
// Updates come from one goroutine that follows the log of the registry and works
// out once per game, filter and fields what has to be said; it rests long enough
// to take a quarter of one processor at most. See feed.
package serverbrowse
