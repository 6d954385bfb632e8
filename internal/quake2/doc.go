// Package quake2 is the wire format of the masters of Quake 2's family and of QuakeWorld,
// and of the status of their servers.
//
// A message begins with four bytes 0xFF and a word, but for QuakeWorld's heartbeats and the
// requests of browsers for a list. HexenWorld's are QuakeWorld's, coded as those of Zandronum.
// A status is a line of keys and values, each after a
// backslash, and a line for each player. Letters with the highest bit set are of another
// colour. No message brings a challenge back.
//
// The package knows no games but by the evidence in a status, and has no sockets.
package quake2
