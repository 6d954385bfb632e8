// Package legacylist answers the server browsers of games from about 1997 to
// 2004, which ask for lists in backslash text on TCP port 28900. It serves every
// server that is listed, however it got there.
//
// It is not for taking servers in (package qr2 does that), not for the binary
// list protocol that came after (package serverbrowse), and it does not decide
// which games, rooms or bans there are.
//
// # Connection
//
// The master speaks first and says 21 bytes, the last six of them a challenge of
// random capitals:
//
//	\basic\\secure\ABCDEF
//
// The client introduces itself and asks for a list. It does not wait in between,
// so both messages mostly share a segment:
//
//	\gamename\ENGINE\gamever\2\location\0\validate\ANSWER\enctype\2\final\\queryid\1.1\
//	\list\MODE\gamename\WANTED\where\FILTER\final\
//
// ENGINE is the client's own game: ANSWER is the challenge, scrambled with that
// game's secret (package gamespy). WANTED is the game whose servers it wants, and
// is ENGINE if it is missing. A message ends with \final\. The master sends the
// list and closes the connection: one connection, one list.
//
// # What clients leave out or add
//
// Fields come in any order and in any spelling of their letters. A field that is
// not known, a \queryid\ or a \basic\ in front, line ends and NULs are passed
// over. The mode may be missing, with its value left empty or not. The game's
// name may be in capitals. No enctype means 0.
//
// Some clients do not end their request. It counts as ended when it names a game
// and nothing more comes for a tenth of a second, or when the client closes its
// side. The first Unreal never asks for a list: when it has introduced itself and
// is silent for a second, it gets the plain list of unreal.
//
// # Validation
//
// There is one right ANSWER per enctype. With enctype 1 or 2 it must be given.
// With enctype 0 any answer will do, because well-known tools send a constant;
// the options, and the policy of the wanted game before them, can demand it. Of
// a secret with seven characters some clients know the first six: either will do,
// and the list is hidden behind the same.
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
// infoFields and groupFields. A backslash in a value becomes a dot, and the word
// that would end the list gets one behind it. The last column of a room holds its
// further fields, a byte 1 before each name and each value.
//
// A list without entries, or of a game that is not in the catalogue, is \final\
// alone. The address 92.102.105.110 with port 24940, which spells the end of a
// list, is not listed, nor is IPv6.
//
// # Encryption
//
// With enctype 0 the list is sent as it is. With enctype 1 and 2 it is what the
// types Enctype1 and TreeCipher of package gamespy make of it. The end mark is
// part of it, but for one case: a cmp list of enctype 1 that has servers ends
// with the last of them, because clients know its length.
//
// # Refusals
//
// A client of enctype 1 or 2 that is refused reads \fatal\1\error\ with a reason
// and \final\, as it is. One of enctype 0 gets an empty list: it would take the
// text for the addresses of servers and go and ask them. A filter (package filter)
// that is not understood is ignored and logged, or refused if the options say so;
// one that is too long or too expensive is always refused. For all that a client
// says before it has its list there are 5000 bytes, and 30 seconds unless the
// options say otherwise. A second request on a connection is counted and not
// answered.
//
// # How it is done
//
// Requests for the same game, mode and filter share a view, the finished bytes of
// the list. It is built when it is wanted and the game has changed, but not again
// within twenty times the time that building it took, and at most a tenth of a
// second. Connections encode a view in pieces, so a slow reader holds no copy of
// it, and without encryption they send from it directly.
//
// When all is sent, the master ends its own direction and gives the client two
// seconds to do the same: closing at once while the client still talks would
// take the end of the list from it.
package legacylist
