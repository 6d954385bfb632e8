// Package stats implements the data of the statistics service: data of players by game,
// games that servers reported, and the rankings made of them.
//
// It has the rules: limits, the forms of data, the effect of reports. Package
// storage keeps the data. This package checks no permissions,
// authenticates no players and knows no messages: the services do.
//
// # Modified since
//
// Clients remember the time of their last read in whole seconds and ask for data
// that changed after it. So a change must never have a time that a client may have
// seen already: [storage.StatBlock] has times that grow with each change of an
// index, also within a second. A service answers "not modified" if the time of the
// block is not after that of the client, and 0 is the time of a block that does not
// exist.
//
// Such times run ahead of the clock if a block changes more than once per second. They stop
// [storage.MaxStatAhead] ahead: changes beyond that share a second, and a client that read
// between two of them notices the later one only after a change in a later second.
// Without that bound a client that writes without pause would move the time of its block
// years ahead, up to the last second that clients can read.
//
// # Games
//
// The names of games are those that clients state. Every block, report and score
// belongs to one, and no method reads those of another.
package stats
