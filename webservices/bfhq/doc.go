// Package bfhq is the backend of package webservices for the pages of Battlefield 2 and
// Battlefield 2142: the player pages of the games (BFHQ), the questions of their servers about a
// joining player, and the results of rounds that their servers send. Which game has such pages,
// and at which paths, is in the catalogue: games.FileBFHQ and games.FileStella. What differs
// between the games is in rules.go; Battlefield 2142 (stella) has pages and totals of its own.
// Its sign-in is not here: see package fesl.
//
// # Pages
//
// A page is text: lines that end with a line feed, fields that are separated by a tab.
//
//	O                          or E, or E and the number of an error
//	H  pid   nick    asof      the names of columns
//	D  1001  Tester  1700000000
//	H  ...                     further tables
//	$  73  $                   characters before this line, without tabs and line feeds
//
// The last line has no line feed, except in Battlefield 2142. See Answer.
//
// A request of Battlefield 2142 has a token in the parameter auth: who asks and when, signed
// with AES under a constant of the game, see openToken. Without that constant the player is
// known from the address of a session.
//
// # Rounds
//
// At the end of a round a server sends the actions of each player, as a list of keys and values in
// which keys repeat:
//
//	POST /ASP/bf2statistics.php
//	PREFIX\SERVER NAME\gameport\16567\...\mapstart\1700000000.0\mapend\1700001800.5\...
//	\pID_0\1001\name_0\Tester\...\mvns_0\1002\mvks_0\3\mvns_0\1003\mvks_0\1\...\EOF\1
//
// The number in a key is that of the player, with holes. Names are not escaped, see
// parseSnapshot. The same list may come through the statistics service (stats.Snapshot), where
// its rounds count as those that come here. Only servers in webservices.snapshot_servers are
// believed: nothing in a round is signed.
//
// # Stored data
//
// A round is kept as a storage.Report under the number of the round; then the server is answered.
// Behind that the results go to the boards, in the step that makes the report final, which
// happens once however often and through whichever node the round is sent. Last the totals of
// each player change: a storage.StatBlock of kind StatPublicRead with index 0, see Record. It has
// the numbers of the last rounds of the player, so that none counts twice. Totals lost in a crash
// are restored from the reports, at the next start and every hour.
package bfhq
