// Package postgres is the engine of package engine for several machines: one PostgreSQL
// database, version 15 or later, which all nodes of a cluster use.
//
// # Tables
//
//	entries         t, k, r, v: number of the table, key, revision, value
//	entry_tables    name, number
//	entry_settings  name, value: the format, the layout of the records, what Probe wrote
//	numbers_N       the sequence of the table with number N
//
// A revision is a random number that each change of an entry replaces. Equal revisions
// mean equal values, and the sum of the revisions in a range, by XOR, with their count
// means equal ranges.
//
// # Steps
//
// A step reads what it needs, as of one moment, and remembers the revisions. It changes
// nothing until its function returns. Then one batch, which PostgreSQL runs as a
// transaction, does the rest in one round trip: it takes locks, compares all revisions with
// the present ones, and only if they are the same it writes. If they are not, the step runs
// again. So nothing is locked while a step computes and while its statements travel.
//
// The first read of a step is one statement. The second one begins a transaction of
// isolation REPEATABLE READ and compares, in the same round trip, what the first one found.
//
// The locks are advisory ones: their numbers are hashes of the keys, so they exist for
// missing keys and ranges too, see locks.go. All steps take them in one order.
//
// A step that was disturbed takes the locks of its last run first, and
// reads under them. So a busy entry makes steps slow and does not fail them.
//
// After the loss of a connection a step is repeated if its changes were not sent. The
// result of another one is unknown; its error matches [engine.ErrUnavailable]. The context
// of a caller ends the wait for a connection, not a step that has begun. Each step has a
// deadline of its own. A server that answered none of the last steps counts as gone: steps
// are refused at once, and the engine tries it each second.
//
// # Numbers
//
// Numbers come from sequences, which no step that fails gives back. A node takes
// [numberBlock] of them at once, except for the tables of Options.Strict.
package postgres
