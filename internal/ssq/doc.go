// Package ssq implements the format of Standard Server Queries, version 0.31 of
// a draft of 2002: packets, tables, queries and times, for servers and, with
// [Exchange], for clients.
//
// It opens no socket, keeps no time, and knows neither the list nor the meaning
// of columns: package ssq at the top of the module answers from the list, and
// its documentation describes the decisions where the draft is silent.
//
// # Packets
//
// A packet is an ID, the number of packets less one and the number of this one
// in four bits each, and a part of the text ([Header]). The answer repeats the
// ID. An answer is split at any byte and reassembled by the numbers ([Split],
// [Assembly]).
//
// # Tables
//
// An answer is rows of cells, the first one with the names of the columns
// ([Table]). The header can be shortened to 1 or 0 for each requested column,
// or to one empty cell, so its reader must know the query. Tables with the only
// column x-error or x-token hold no data. The answer to a ping is not a table.
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
// After each may follow X-TOKEN token, after the first two X-HEADER form,
// X-OFFSET number and X-LIMIT number; clauses come in any order, each at most
// once. These are extensions of respawnd. Other servers do not receive them,
// since an Exchange adds X-TOKEN only for a server that has sent a token.
package ssq
