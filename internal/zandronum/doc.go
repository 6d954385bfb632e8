// Package zandronum holds the wire formats of Zandronum that more than one
// service uses: the Huffman code around every datagram, the messages between
// game servers, launchers and the master, and the query that a launcher sends
// to a game server.
//
// It has no socket, no list and no clock. Package zanmaster is the master,
// package probe the client that queries game servers.
//
// # Code
//
// A datagram is one byte and data. After 0xFF the data is the message as it is.
// Any other value is the number of unused bits at the end of the data; the bits
// before are the message in the Huffman code of table.go, the first bit of a
// code in the lowest free bit of the current byte. A sender codes a message if
// that does not make it longer.
//
// The code is complete: every input can be decoded, and an incomplete code at
// the end is ignored.
//
// # Numbers and text
//
// Integers are little-endian: byte, short (16 bits), long (32 bits). A string
// ends with a NUL. Reading an integer beyond the end of a message gives all
// ones, reading a string there gives an empty one; neither is an error, and
// surplus bytes are ignored.
//
// # Messages
//
// Messages to the master and between launcher and server start with a long,
// those from the master to a game server with a byte, those from the master to
// a launcher with a long whose value is small. "verification" is a string that
// a game server chooses when it starts.
//
//	server -> master   5660020  verification, byte enforces bans, long revision
//	master -> server   206      verification, long number
//	server -> master   5660029  verification, long number
//	master -> server   207      verification, byte part, items, byte 2 more or 3 end
//	                            item: byte 0 ban or 1 exemption, string address
//	master -> server   205      verification, long n, n bans, long n, n exemptions
//	server -> master   5660030  verification
//
//	launcher -> master 5660028  short version, which is 2
//	master -> launcher 6        byte part, byte 8, blocks, byte 0, byte 7 more or 2 end
//	                            block: byte n, 4 bytes address, n shorts port
//	launcher -> master 199
//	master -> launcher 0        servers, byte 2; server: byte 1, 4 bytes address, short port
//	master -> launcher 3, 4, 5  banned, asked too soon, other version
//
//	launcher -> server 199      long flags, long time, [long flags2], [byte 2: segmented]
//	server -> launcher 5660023  long time, the information
//	server -> launcher 5660032  byte number, byte count, short offset, short size,
//	                            short total, a piece of the message below 5660023
//	server -> launcher 5660024  long time: asked too soon
//	server -> launcher 5660025  long time: banned
package zandronum
