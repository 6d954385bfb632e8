// Package query implements the client side of the two status queries of
// GameSpy's protocols: the request to a game server, the reassembly of its
// answer from packets, and the answer as plain values.
//
// It opens no socket, keeps no time and does not decide which servers to query
// or which answers to trust: its callers do (qr2, probe, lan).
//
// # Text
//
// The older servers are queried in backslash text; one packet can request
// several things:
//
//	\basic\  \info\  \rules\  \players\    sections
//	\status\                               all four
//	\secure\TEXT                           answered with \validate\PROOF
//	\echo\TEXT                             answered with \echo\TEXT
//
// The answer is one or several packets of fields. Each has a number,
// \queryid\Q.P: query Q of this server, packet P from 1. The last one has
// \final\. This package accepts the variants that servers really send: packets
// in any order, queryid before the data, final as the first key or after the
// queryid, \queryid\P without Q, no queryid or one that is not a number (the
// packet is the whole answer), and packets numbered with \statusresponse\N from
// 0 that end in \eof\ and may be cut between a key and its value.
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
// The number is sent by clients that requested one, unless it is 0. Packets of
// a split answer begin with "splitnum", NUL and a byte, their number from 0
// with 0x80 in the last, and hold sections of a kind byte (rules, players,
// teams) and its values column by column, each with the row it begins at. Some
// old servers crash on the split query, so only the kinds that are known to
// need it send it.
package query
