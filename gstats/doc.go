// Package gstats is the statistics service: games keep data of players here and
// report the games that were played. It stores nothing itself: a Book has the data,
// and SignIn the players.
//
// # Messages
//
// A message is a body and the terminator \final\. The body is XORed with
// "GameSpy3D" from its first byte on, the terminator is in the clear. Both sides look
// for the terminator first and decipher then, so that a body may hold the same text.
// In the clear a body is backslash text whose first key, with an empty value, names
// the request:
//
//	S: \lc\1\challenge\ABCDEFGHIJ\id\1
//	C: \auth\\gamename\gmtest\response\RESPONSE\port\7778\id\1
//	S: \lc\2\sesskey\160\proof\0\id\1
//
// The server speaks first. Clients read its first two messages with one read each: the
// first needs at least 38 and at most 63 bytes, the second fewer than 128 and a segment
// of its own. Answers to requests that a client sent without waiting for the second one come a
// quarter of a second after it, in order. RESPONSE is md5hex(decimal of h(challenge), secret key of the game), where h
// is that of package function hashOf.
//
// # Players
//
// A game authenticates any number of players on its connection:
//
//	C: \authp\\pid\100001\resp\PROOF\lid\1
//	C: \authp\\nick\Nick1\keyhash\MD5 OF THE CD KEY\resp\PROOF\lid\2
//	C: \authp\\authtoken\TOKEN\resp\PROOF\lid\3
//	S: \pauthr\100001\lid\1
//	S: \pauthr\-1\lid\2\errmsg\TEXT
//	C: \getpid\\nick\Nick1\keyhash\MD5 OF THE CD KEY\lid\4
//	S: \getpidr\100004\lid\4
//
// PROOF is md5hex(secret, challenge of the player). The secret is the password, the CD
// key, or the challenge that was issued with the token; the challenge is derived from
// the sesskey of the connection, see PlayerChallenge. lid comes back.
//
// # Data
//
// A block of data has an owner (pid), a kind (ptype) and an index (dindex). Kinds 0 and
// 1 are private, 2 and 3 public; clients set 1 and 3 only. Private blocks are read, and
// all blocks set, by their owner alone:
//
//	C: \setpd\\pid\P\ptype\3\dindex\0\kv\1\lid\5\length\24\data\BYTES
//	S: \setpdr\1\lid\5\pid\P\mod\1700000123
//	C: \getpd\\pid\P\ptype\3\dindex\0\keys\\lid\7\mod\1700000000
//	S: \getpdr\1\lid\7\pid\P\mod\1700000123\length\24\data\BYTES
//
// length counts any bytes; the body ends behind them. With kv 1 they are pairs
// \key\value and a NUL, which are merged into the block; with 0 they replace it. keys is
// empty for the whole block, else a list in which 0x01 stands before each key. A
// request with mod wants the block only if it changed since; else the answer has 2 in
// place of 1 and no data. 0 is a refusal.
//
// # Games
//
// Nothing answers reports of games:
//
//	C: \newgame\\connid\160\sesskey\S
//	C: \updgame\\sesskey\S\connid\160\done\1\gamedata\PAIRS
//
// connid is the sesskey of the connection, S a number of the client for the game. In
// PAIRS 0x01 stands for each backslash. Old clients leave connid out, and some never
// send newgame. A game that was played without a connection is written to disk and
// sent with the next one:
//
//	C: \newgame\\sesskey\S\challenge\decimal of S xor 0x38F371E6
//	C: \updgame\\sesskey\S\connid\0\done\1\gamedata\PAIRS\dl\1
//
// Such a report proves nothing and is stored as not trusted.
//
// Either side may send \ka\ at any time. A client that sends it gets one back.
package gstats
