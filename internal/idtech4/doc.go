// Package idtech4 is the wire format of Doom 3, Quake 4 and Prey: of their servers,
// browsers and masters. The package is pure: it knows no socket, no list and no time.
//
// Every datagram begins with two bytes FF, then a word and a NUL, then data. Numbers are
// little endian, texts end with a NUL, an address is four bytes and a port.
//
//	heartbeat                                server to master, every 5 minutes
//	getServers  PROTOCOL (4) MOD [PLAYER CLAN] FILTERS (1)
//	                                         browser to master; Quake 4 also names those
//	servers     ADDRESS ...                  answer, in packets of at most MaxList bytes
//	getInfo     CHALLENGE (4)                to a server, from a master or browser
//	infoResponse CHALLENGE (4) PROTOCOL (4)  answer; then pairs of texts until two empty
//	            PAIRS PLAYERS END            ones, then the players until a number from 32 on:
//	                                         number (1), ping (2), rate (4), name, and in
//	                                         Quake 4 the clan; then systems (4)
//	versionCheck PROTOCOL (4) VERSION GUID   browser to master; no answer: no newer version
//	clAuth      PROTOCOL (4) ADDRESS GUID (1) KEY KEYS (1) [KEY]
//	                                         player to master: keys, and the server to join
//	gameAuth    PROTOCOL (4) KEYS (1) KEY KEYS (1) KEY
//	authKey     1 GUID                       answer to both
//	srvAuth     PROTOCOL (4) ADDRESS CLIENT (4) [GUID] EXPANSION (1)
//	                                         server to master: may a player join? The GUID
//	                                         is missing for client -1
//	auth        REPLY (1) CLIENT (2) ADDRESS GUID [MESSAGE (1)]
//	                                         answer
//
// The upper half of a protocol is the game (1 Doom 3, 2 Quake 4, 3 Prey, 4 its demo), the lower its version.
// Servers, browsers and checks of versions are proved by quakestat and the published
// source of Doom 3; keys by that source only.
package idtech4
