// Package q3master is a master server for Quake III Arena and its family: ioquake3,
// OpenArena, DarkPlaces games such as Xonotic, Return to Castle Wolfenstein, Enemy
// Territory, Jedi Knight II and Jedi Academy. Package quake3 has the wire format.
//
// # Servers
//
// A game server sends a heartbeat every five minutes and when players come or
// leave. Its tag says which game it runs; the catalogue of games has the tags. The
// master answers with getinfo and a challenge, from the socket and address that the
// heartbeat came to. The server is listed when its infoResponse brings the
// challenge back, in the game that tag, name and protocol lead to, and leaves after
// Config.Timeout without another one. A heartbeat alone changes nothing, nor does
// an infoResponse that is refused: its source may be forged.
//
//	server                        master
//	heartbeat DarkPlaces   ->
//	                       <-     getinfo CHALLENGE
//	infoResponse           ->     listed, for 15 minutes
//
// The challenge is a keyed MAC over source, tag and time, and is accepted once. It
// is shorter than every known heartbeat; a heartbeat that is shorter than its
// getinfo takes from the allowance of its address.
//
// A listed server that does not answer the question after its heartbeat is asked
// three more times, for it may be loading a map, and leaves the list after 25
// seconds: games send a last heartbeat when they stop. Their flatline heartbeats are
// handled so too. Forged ones do no harm, since a server that runs answers.
//
// Servers that were restored from the saved list are sent a getinfo at once, since
// their next heartbeat may be minutes away.
//
// # Lists
//
// Browsers cannot prove their address, and a list is up to a thousand times longer
// than its request. So lists are budgeted by address, by network of 256 addresses
// and in total: Config.ListWindow and ListBurst, ListsPerNet, ListsTotal. Requests
// beyond that are dropped, as the protocol has no error.
//
// The packets of a list are encoded once after each change of its servers and
// shared by all who request the same. Servers with private addresses have a list for
// each network of browsers, as in other services.
package q3master
