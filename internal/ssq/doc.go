// Package ssq is the format of Standard Server Queries, version 0.31 of a draft
// of 2002: packets, tables, queries and times, for the side that answers and,
// with [Exchange], for the side that asks.
//
// It opens no socket, keeps no time, and knows neither the list nor what a
// column means: package ssq of the same name at the top of the module answers
// from the list, and its documentation tells what was decided where the draft is
// silent.
//
// # Packets
//
// A packet is an ID, the number of packets less one and the number of this one in
// four bits each, and a part of the text ([Header]). The answer repeats the ID.
// Packets are cut anywhere and put together by their numbers ([Split],
// [Assembly]).
//
// # Tables
//
// An answer is rows of cells, the first one with the names of the columns
// ([Table]). The header can be shortened to 1 and 0 for each column that was asked
// for, or to one empty cell, so its reader must know the question. Two rows
// of one cell are no data: the columns x-error and x-token. The answer to a ping is
// no table.
//
// # Queries
//
//	SELECT column,... [WHERE comparison {and|or comparison}] [IDENTIFIED token]
//	SP name           [WHERE ...] [IDENTIFIED token]
//	AUTH password
//	CL [LONG]
//	VERSION
//	PING
//
// Behind each may stand X-TOKEN token, behind the first two X-HEADER form, X-OFFSET
// number and X-LIMIT number; clauses come in any order, each once. These are ours:
// a server that does not know them is not sent them, since an Exchange adds
// X-TOKEN only for a server that has sent a token.
package ssq
