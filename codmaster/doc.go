// Package codmaster is a master server for Call of Duty, United Offensive, Call of Duty 2
// and Call of Duty 4. It is the master of package q3master with another dialect; package
// quake3 has the wire format.
//
// The games have a port each for their master and one for keys; the catalogue has them.
// Every socket takes all messages. Two games have the same numbers of protocols: the port
// that a browser asks says which one it wants.
//
// Lists differ from Quake III's in their marks. A server that stops sends the tag
// "flatline" and is asked, as in package q3master.
//
// Game servers ask at the port of keys whether a player may join: each may, but those
// who are banned. Keys are not checked, and not kept; the key that the game of a player
// sends is not answered. The layouts are those of public masters; quakestat reads the
// lists.
package codmaster
