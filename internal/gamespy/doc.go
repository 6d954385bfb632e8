// Package gamespy implements the wire formats that the GameSpy services share:
// those that at least two services, or a service and its test client, have to
// read or write in the same way.
//
// # Contents
//
// Proofs. A host or an old browser proves that it knows its game's secret key
// by scrambling a challenge with it: [Response], [CheckResponse].
//
// Stream cipher. All data that a browser receives on a server-list connection
// after the first few bytes is scrambled with a cipher whose state depends on
// every byte that went through it: [Cipher]. The plain bytes before it carry
// the server's half of the key: [AppendCryptHeader], [BrowseKey].
//
// Old lists. The list protocol before that one has two other encryptions, and
// an answer to its greeting for each: [Enctype1], [TreeCipher],
// [AppendValidate], [CheckValidate].
//
// Backslash text. The oldest formats and the presence services write
//
//	\key\value\key\value\final\
//
// without lengths and without any way to write a backslash inside a value:
// [Message], [CutFinal].
//
// NUL fields. Reports and replies in binary packets are strings that end in a
// NUL byte, in pairs up to an empty key ([Pairs]) or as a table with a row
// count and column names ([Table]).
//
// Passwords. Presence clients obscure passwords and CD keys with a fixed key
// stream: [EncodePassword], [DecodePassword]. This is no protection.
//
// # Not included
//
// No sockets, no clock, no logging, no table of games, no policy. The package
// keeps no state between calls and imports only the standard library. Text is
// opaque bytes: the games used the code pages of their time, so nothing here
// checks for or converts to UTF-8, and only ASCII letters are folded.
//
// # Empty keys
//
// A game without a secret key must not crash a service, so an empty key counts
// as a single zero byte in all functions. [CheckResponse] accepts no proof made
// with it.
package gamespy
