// Package ssq is the format of Standard Server Queries, version 0.31 of a draft
// of 2002: packets, tables, queries and times, for the side that answers and,
// with [Exchange], for the side that asks.
//
// It opens no socket, keeps no time, and knows neither the list nor what a
// column means: package ssq of the same name at the top of the module answers
// from the list.
package ssq
