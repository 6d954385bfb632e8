// Package legacylist answers the server browsers of games from about 1997 to
// 2004, which request lists in backslash text on TCP port 28900. It lists
// servers of all origins.
//
// It does not register servers (package qr2 does) and does not implement the
// later binary list protocol (package serverbrowse). Games, rooms and bans are
// given.
//
// # Connection
//
// The master begins with 21 bytes, the last six of them a challenge of random
// capitals:
//
//	\basic\\secure\ABCDEF
//
// The client identifies itself and requests a list. It does not wait in
// between, so both messages mostly share a segment:
//
//	\gamename\ENGINE\gamever\2\location\0\validate\ANSWER\enctype\2\final\\queryid\1.1\
//	\list\MODE\gamename\WANTED\where\FILTER\final\
//
// ENGINE is the client's own game: ANSWER is the challenge, scrambled with that
// game's secret (package gamespy). WANTED is the game whose servers it
// requests, by default ENGINE. A message ends with \final\. The master sends
// the list and closes the connection: one connection, one list.
//
// # Variations of clients
//
// Fields come in any order and in any case of letters. Unknown fields, a
// leading \queryid\ or \basic\, line ends and NULs are ignored. The mode may be
// missing, with its value left empty or not. The game's name may be in
// capitals. No enctype means 0.
//
// Some clients do not end their request. It counts as ended when it names a
// game and nothing more arrives for a tenth of a second, or when the client
// closes its side. The first Unreal never requests a list: when it has
// identified itself and is silent for a second, it gets the plain list of
// unreal.
//
// # Validation
//
// There is one right ANSWER per enctype. With enctype 1 or 2 it is required.
// With enctype 0 any answer is accepted, because well-known tools send a
// constant; the options, and with priority the policy of the wanted game, can
// require it. Of a secret with seven characters some clients know only the
// first six: both are accepted, and the list is encrypted with the same part.
//
// # List
//
//	mode     list
//	cmp      4 bytes of address and 2 of query port for each server, then \final\
//	(none)   \ip\ADDRESS:PORT for each server, then \final\
//	info2    a table of servers, then \final\
//	groups   a table of rooms, then \final\
//
// A table begins with \fieldcount\, the number of its columns and their names;
// the rows follow, a backslash before each value. The columns are those of
// infoFields and groupFields. A backslash in a value becomes a dot, and a dot
// is appended to a value that would end the list. The last column of a room
// holds its further fields, a byte 1 before each name and each value.
//
// A list without entries, or of a game that is not in the catalogue, is just
// \final\. The address 92.102.105.110 with port 24940, which spells the end of
// a list, is not listed, nor is IPv6.
//
// # Other masters
//
// A master of 333networks asks for the servers of games, or of all, as a client of the game
// 333networks, whose secret it must know. Its last message mostly has no end:
//
//	\validate\ANSWER\gamename\333networks\final\\sync\all\msid\IDENTITY
//	\ut\192.0.2.1:7778 192.0.2.2:7778 \unreal\192.0.2.3:7778 \final\
//
// It gets those that answered queries here in the oldest protocol, in which it queries them too,
// and none that are known from other masters. IDENTITY keeps a master from reading itself. One
// without the right answer, or one that asks more often than once a minute, gets no byte.
//
// # Encryption
//
// With enctype 0 the list is sent as it is. With enctype 1 and 2 it is
// encrypted by the types Enctype1 and TreeCipher of package gamespy. The end
// mark is part of it, with one exception: a cmp list of enctype 1 that has
// servers ends with the last of them, because clients know its length.
//
// # Refusals
//
// A refused client of enctype 1 or 2 gets \fatal\1\error\ with a reason and
// \final\, unencrypted. One of enctype 0 gets an empty list: it would take the
// text for addresses of servers and query them. A filter (package filter) that
// cannot be parsed is ignored and logged, or refused, depending on the options;
// one that is too long or too expensive is always refused. A client may send
// 5000 bytes, and by default has 30 seconds, before it gets its list. A second
// request on a connection is counted and not answered.
//
// # Implementation
//
// Requests for the same game, mode and filter share a view, the finished bytes
// of the list. It is built on request when the game has changed, but not again
// within twenty times the time that building it took, at most a tenth of a
// second. Connections encode a view in pieces, so that a slow reader needs no
// copy of it, and without encryption they send from it directly.
//
// When all is sent, the master closes its sending direction and gives the
// client two seconds to do the same: closing the connection while the client
// still sends would destroy the end of the list.
package legacylist
