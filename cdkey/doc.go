// Package cdkey answers game servers that check the CD key of a player. It
// keeps no keys: a Keyring has them.
//
// Every message is one datagram, XORed with "gamespy" from its first byte on. In
// the clear it is backslash text whose first key, without a value, names it:
//
//	\auth\\pid\461\ch\wX3kQ9zz\resp\RESPONSE\ip\16777343\skey\6979\reqproof\1\
//	\disc\\pid\461\cd\HASH\ip\16777343
//	\ka\
//	\uok\\cd\HASH\skey\6979
//	\unok\\cd\HASH\skey\6979\errmsg\CD Key is invalid
//	\ison\\cd\HASH\skey\7\pch\CHALLENGE
//	\uon\\skey\7\seed\\proof\RESPONSE
//	\uoff\\skey\7
//
// auth checks a joining player, disc reports that one has left, ka keeps the
// entries of a server alive. pid is the number of the product, ch a challenge
// of the game server, skey a number of its own that comes back, HASH the md5hex
// of the key in lower case. RESPONSE is made on the player's machine, 72 hex
// digits:
//
//	 0..31  HASH
//	32..39  a random number r
//	40..71  md5hex(key, decimal of r mod 65535, challenge)
//
// Servers repeat auth after two seconds, twice, from the same port and without
// changing a byte, and let the player in after six: an answer after five is
// useless. They take answers from any address.
//
// With ison the service asks a server whether a player with that key is still
// there. Servers answer at once with uoff, or with a uon that proves nothing and
// then, if the player's machine agrees, with one whose response has its parts in
// the other order: md5hex(challenge, decimal of r mod 65535, key).
//
// In permissive mode every response of the right shape is good. In strict mode the
// key must be known and the response be made with it; a key that is in use on
// another server is refused once that server has proved within two seconds that its
// player is still there. Banned keys are refused in both. In a cluster a key is in use on one
// node: before another one accepts it, that node asks its server in the same way.
//
// Unproved addresses get no more bytes than they sent: the answer to auth is
// shorter than it, and a server is asked with ison only as long as it sent more for
// that key than it was sent.
package cdkey
