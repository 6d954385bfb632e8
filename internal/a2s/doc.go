// Package a2s holds Valve's server queries, which Source and GoldSource games
// and many others answer: the messages in both directions, how they are cut into
// packets and put together again, and one question with all that it takes to get
// its answer.
//
// It opens no socket and keeps no time. The sender of the packets decides which
// servers to ask, how often, how long to wait and which answers to believe.
//
// # Numbers and text
//
// Integers are little-endian: byte, short (16 bits), long (32 bits). A float is
// an IEEE number of 32 bits. A string ends with a NUL, should be UTF-8, and is
// kept as the bytes it has; readers of a message cut their pieces out of one
// copy of it.
//
// # Messages
//
// A message is a long of -1, the byte of its kind, and what the types of this
// package show:
//
//	client -> server  T  "Source Engine Query", NUL, [challenge]   Request
//	server -> client  I  the server                                Info
//	server -> client  m  the server, as older games say it         OldInfo
//	client -> server  U  challenge or -1                           Request
//	server -> client  D  its players                               Players
//	client -> server  V  challenge or -1                           Request
//	server -> client  E  its rules                                 Rules
//	client -> server  i                                            Request
//	server -> client  j  string, empty or 14 zeros                 AppendPing
//	client -> server  W                                            Request
//	server -> client  A  challenge                                 AppendChallenge
//
// A server may answer any question with a challenge: because there was none, the
// wrong one or an old one. The question is repeated with it: behind everything
// else, or in its place in those that have one. Servers of a few old games hand
// one out for W; all others for a question with -1.
//
// # Packets
//
// A message that is too long for a packet is sent in several, each with a long of
// -2, a long that names the message, and a place among its parts: see Format.
// The two formats do not say which of them they are. It follows from the first
// byte behind the name and its neighbour, and where those could be both, from two
// parts together: all parts of a Source message begin with the same byte, and no
// two of a GoldSource message do.
//
// In most games a Source part states the size of a full one, in some it does not
// (see Sizeless). The data of part 0 begins with the -1 of the message, or with
// size, checksum and "BZh" if it is compressed; where that stands tells the one
// from the other. A message without its -1, or with two of them, is read as well.
//
// # Tolerance
//
// Servers send less and more than they should. Each type says what must be there;
// what may be missing at the end of a message is left out and reported by Truncated,
// and bytes that are left over mean nothing. Counts are not believed: no more is
// read than is there, and no memory is taken for what is not. A time that is not
// a number becomes 0, so that all values can be written as JSON.
//
// # Bounds
//
// A message has at most MaxMessage bytes, compressed or not, in at most
// MaxPackets packets, and parts of MaxAtOnce messages are held; it says at most
// MaxPlayers players or MaxRules rules. A server may answer a question with
// MaxChallenges challenges. Reading a compressed message takes 400 KB for a
// moment, whatever its sender claims.
package a2s
