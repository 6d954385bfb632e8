// Package serverbrowse answers the server browsers of games: the protocol that
// its clients call server browsing, version 2, on TCP port 28910. It sends
// lists of servers and rooms, details of one server and updates, searches
// players, and forwards messages to servers.
//
// It does not register servers (package qr2 and similar ones fill
// [master.Registry]) and does not implement the older list protocol (package
// legacylist). Games, rooms and bans are given.
//
// # Connection
//
// The browser sends first. Its messages are in the clear: a length of two
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
// The first message must be a list request, because it carries the input of the
// cipher's key; after any other one, or for a game without a secret, the
// connection is closed, because an answer is impossible. A browser that does
// not need a list sends a list request with NoServerList and the other message
// right after it. Further list requests on a connection continue with the same
// cipher.
//
// The master answers with a crypt header in the clear (package gamespy), and
// everything after it is enciphered in one stream that never starts again. The
// header's flags determine how the browser queries hosts, so they are those of
// the game whose servers it requests; if that game is unknown, those of its
// own.
//
// The connection stays open after the list for further requests and updates.
// While it is quiet the master sends keepalives; two without an answer end it,
// and so does silence beyond the time in the options. The master never closes
// only one direction.
//
// One more keepalive follows the first list after a tenth of the time between two others.
// A browser with another secret key than the master's cannot read any of this, does not
// notice it, and waits. If nothing comes after the list and this keepalive is not returned,
// on several connections in a row or up to the end of one, the log of verdicts has that
// the list was probably not read.
//
// # List
//
// The fixed header is the address of the client and the default query port of
// the game. If the port is 0xFFFF the reason for the refusal follows as text;
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
// The master chooses the forms that make a list small: a column is sent as
// numbers if every value is one that prints as the same text, and every text
// that occurs twice is a popular value. A key whose type the record of the game
// states is of that type, or of a larger one if a number needs it: clients of the game read texts
// as texts and invalid numbers as 0. Every element must fit the client's buffer of 4096 bytes, so
// values of larger entries are cut, the longest first.
//
// A server that players should reach directly (master.Server.Direct) has
// FlagReachable and no values, because the browser queries it at once;
// FieldsForAll adds them. Any other server has its values in the list, and
// FlagNATNeg if it can be reached by negotiation. FlagLocal carries its private
// address, which browsers behind the same public address use.
//
// With SendGroups the entries are rooms. The id of the room is in the place of
// the address, without a port, and all keys are texts.
//
// # Filter
//
// The filter language is that of package filter. An invalid filter is ignored
// and logged, or refused with an error text, depending on the options. One that
// is too long or too expensive is always refused.
//
// # After the list
//
// Messages of the master look like those of the browser:
//
//	kind  message      body
//	   1  key list     number of keys; type and name of each
//	   2  server       an entry with plain texts: no FF, no index
//	   3  keepalive    anything
//	   4  delete       address 4, port 2, always both
//	   5  map loop     see appendMapLoop
//	   6  players      see appendFound
//
// An info request is answered with a server entry of FlagRules that has all
// rules, the country and region, and teams and players as rules named player_0,
// team_t0 and so on. The answer for an unknown server is an entry without data;
// without an answer the client would wait for ever.
//
// A message for a server is forwarded if the server is listed, within the rate
// of the connection. The browser gets no answer. The request for maps is
// answered with the rules mapname and nextmap; the time of the map change is
// unknown.
//
// With PushUpdates the list is followed by a key list of texts and then, as
// things change, by a server entry for every new or changed server and a delete
// for every server that left or no longer matches the filter. These entries
// always have values: without them the client would treat the update as failed.
// Changes are collected for a tenth of a second, and for up to half a second with
// many subscribers. A result limit applies only to the list, not to the updates. While
// Options.MaxFollowed different lists are followed, or too many servers are on
// them, a browser that requests another one gets the list and no updates until
// its next request; that is logged and counted.
//
// # Implementation
//
// Requests for the same game, filter and fields share a view: the finished
// bytes of the list. A view is built on request when the game has changed, but
// not again for a tenth of a millisecond per server of the game beyond the
// first hundred, and at most 100 milliseconds: a short list is always current,
// a long one is built at most ten times a second. Connections encipher a view
// in pieces, so that a slow reader needs no copy of it. See view and package
// views.
//
// Players are found in an index of the names of a game, which is built for a
// search and is at most a second old. The searches of one address, over all its
// connections, have a budget in bytes of names, equal to a tenth of a
// processor; a search over budget is answered with no player found, and
// counted. See nameIndex.
//
// Updates come from one goroutine that follows the log of the registry and
// encodes each change once per game, filter and fields; its pauses limit it to
// a quarter of one processor. See feed.
package serverbrowse
