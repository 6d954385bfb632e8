// Package a2s implements Valve's server queries, which Source and GoldSource
// games and many others answer: the messages in both directions, splitting and
// reassembly of long ones, and the exchange that leads from one request to its
// answer.
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
// A message is a long of -1, the byte of its kind, and the fields of one of the types
// of this package:
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
// A server may answer any question with a challenge: because there was none,
// the wrong one or an old one. The request is repeated with it: at its end, or
// in the challenge's field where the request has one. Servers of a few old
// games issue a challenge in answer to W, all others in answer to a request
// with -1.
//
// # Packets
//
// A message that is too long for a packet is sent in several, each with a long
// of -2, a long with the id of the message, and the number of the part: see
// Format. Nothing states which of the two formats a packet has. It follows from
// the first two bytes after the id, and where those fit both formats, from two
// parts together: all parts of a Source message begin with the same byte, and
// no two of a GoldSource message do.
//
// In most games a Source part states the size of a full one, in some it does
// not (see Sizeless). The data of part 0 begins with the -1 of the message, or
// with size, checksum and "BZh" if it is compressed; the position of that start
// shows whether the size field is there. A message without its -1, or with two
// of them, is read as well.
//
// # Tolerance
//
// Servers send less and more than they should. Each type states its required
// fields; a message that ends early is reported by Truncated, and surplus bytes
// are ignored. Counts are not trusted: they never make the reader go past the
// end or allocate memory. A time that is not a number becomes 0, so that all
// values can be written as JSON.
//
// # Bounds
//
// A message has at most MaxMessage bytes, compressed or not, in at most
// MaxPackets packets, and parts of at most MaxAtOnce messages are held; it has
// at most MaxPlayers players or MaxRules rules. A server may answer a request
// with at most MaxChallenges challenges. Reading a compressed message takes 400
// KB for a moment, whatever its sender claims.
package a2s
