// Package postgres is the storage engine for several machines: one PostgreSQL
// database, version 15 or later, which all nodes of a cluster use.
//
// It implements the contract of package storage and adds upgrades of the
// database and a check of the sealing key. It is not for live data: lists,
// statuses and pairings belong in memory and on the bus of the cluster. State that decides between
// nodes is here, in tables without a log: the fencing numbers of storage.Sessions and the tickets
// of storage.Grants.
//
// # Tables
//
// A record is one row: its key, the values by which it is found or counted, and
// doc, the JSON of the record. A new field of a record therefore needs no
// migration, and an operator can read everything with SQL. Columns are the truth
// where both have a value: doc has no id and no revision. Texts that may be in
// any code page are keys of type bytea. Instants that are compared are
// nanoseconds since 1970, because timestamptz has only microseconds.
//
// Unique keys are unique indexes, never a read before a write; constraints.go
// maps their names to the indexes of storage.TakenError. Limits of a list are
// counted under a lock of the row or the table to which the list belongs.
//
// Ids of users and profiles and all revisions come from sequences. A step that
// fails after it took an id leaves a gap; such an id counts as deleted.
//
// # Sums
//
// A limited or counted quantity has a row with its sum, which changes in the same step. So limits
// are exact for all nodes together, and counting reads nothing else. Sums that nothing limits are
// divided into parts, so that steps do not wait for each other (stat_totals). Ranks are counted
// with score_chunks, see the type chunk.
//
// Steps that lock rows lock them in one order: report_totals, profiles, match_games,
// stat_sizes, the advisory lock of a board, score_chunks; and sake_records, sake_tables,
// sake_owners, sake_games, sake_totals; and file_usage, file_totals. Rows of one table are
// locked in the order of their keys. A step that does not is repeated after a deadlock,
// but only after a second.
//
// The contents of files are in the database too, in parts that a node reads one after the
// other, see storage.Contents.
//
// # Steps
//
// A step of the contract is one statement, one pipelined batch, or one
// transaction of isolation READ COMMITTED with the locks that it needs. Most
// take one round trip. A step that PostgreSQL ends because of a deadlock or a
// serialization failure is repeated, at most [maxTries] times. After the loss of
// a connection only reads are repeated, and changes of which the last statement
// was not sent. The result of another change is unknown; its error matches
// storage.ErrUnavailable.
//
// The context of a caller ends the wait for a connection, not a step that has
// begun. Each step has a deadline of its own, so that a server that is away
// costs seconds.
//
// # Migrations
//
// schema/NNN_topic.sql are applied in the order of their numbers, in one
// transaction under an advisory lock, so that nodes may start at once. The
// table schema_migrations lists those that were applied; a number that this
// program does not know means that a newer one upgraded the database. Nodes of
// the older version continue while the others are upgraded, so a migration adds columns and never
// removes those that they need.
package postgres
