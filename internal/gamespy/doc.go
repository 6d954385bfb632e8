// Package gamespy holds the wire formats that the GameSpy services share:
// bytes in, values out. It is for everything that at least two services, or a
// service and its test client, have to read or write in the same way.
//
// # What is in it
//
// Proofs. A host or an old browser proves that it knows its game's secret key
// by scrambling a challenge with it: [Response], [CheckResponse].
//
// Stream cipher. Everything a server-list connection says to a browser after
// the first few bytes is scrambled with a cipher whose state depends on every
// byte that went through it: [Cipher]. The plain bytes before it carry the
// server's half of the key: [AppendCryptHeader], [BrowseKey].
//
// Old lists. The list protocol before that one knows two further encryptions,
// and an answer to its greeting for each: [Enctype1], [TreeCipher],
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
// Passwords. Presence clients hide passwords and CD keys behind a fixed key
// stream: [EncodePassword], [DecodePassword]. This keeps no reader out.
//
// # What is not in it
//
// No sockets, no clock, no logging, no table of games, no policy. The package
// keeps no state between calls and imports the standard library alone. Text is
// opaque bytes: the games wrote the code page of their day, so nothing here
// checks for or converts to UTF-8, and letters are compared in ASCII.
//
// # Empty keys
//
// A game without a secret key must not bring a service down, so wherever a key
// is asked for, an empty one counts as a single zero byte. [CheckResponse]
// accepts no proof that was made with it.
package gamespy
