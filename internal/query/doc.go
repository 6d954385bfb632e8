// Package query is the asking side of the two status queries of GameSpy's
// protocols: what to send to a game server, how its answer is put together from
// packets, and what the answer says, as plain values.
//
// It opens no socket, keeps no time and does not decide which servers to ask or
// which answers to believe: the senders of the packets do (qr2, probe, lan).
//
// # Text
//
// The older servers are asked in backslash text, and in one packet for several
// things at once:
//
//	\basic\  \info\  \rules\  \players\    sections
//	\status\                               all four
//	\secure\TEXT                           answered with \validate\PROOF
//	\echo\TEXT                             answered with \echo\TEXT
//
// The answer is one or several packets of fields. Each names its place with
// \queryid\Q.P: query Q of this server, packet P from 1. The last one has
// \final\. This package takes what servers really send: packets in any order,
// queryid in front of the data, final as the first key or behind the queryid,
// \queryid\P without Q, no queryid at all (the packet is all there is), a word
// in its place (likewise), and packets numbered with \statusresponse\N from 0
// that end in \eof\ and may be cut between a key and its value.
//
// The fields of players carry the row in their name: player_0, score_0,
// player_1. They become the player table, if their row has a player's name;
// those of teams, such as score_t0 and teamname_0, become the team table.
//
// # Binary
//
// The newer servers answer packets that begin with FE FD:
//
//	FE FD 09 key                         -> 09 key, number in decimal, NUL
//	FE FD 00 key [number] FF FF FF       -> 00 key, pairs, players, teams
//	FE FD 00 key [number] FF FF FF 01    -> the same, in up to 8 packets
//
// The number is sent by those who asked for one, and not if it is 0. Packets of
// a split answer begin with "splitnum", NUL and a byte, their number from 0
// with 0x80 in the last, and hold sections of a kind byte (rules, players,
// teams) and its values column by column, each with the row it begins at. Some
// old servers crash on the split query, so only the kinds that are known to
// need it send it.
package query
