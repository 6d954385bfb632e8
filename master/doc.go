// Package master is the list of game servers: their addresses, reported data
// and the times of their last reports.
//
// It knows no protocol, no socket and no storage. The intakes (QR2 and similar
// services) add servers that proved their address; list services, web pages and
// tools read them. Both sides exchange a [Server], a record that is immutable
// once it is listed: an update replaces the record.
//
// Far more reports arrive than are ever read. An intake may therefore put the
// text of a report into a record ([Source]); it is parsed once, by the first
// call that reads a rule, a player or a team. This is invisible to callers:
// [Fields] and [Table] are the same for records made from values ([Report]) and
// from text.
//
// Readers that follow the list have no queue of their own. The registry keeps
// one bounded log of changes ([Registry.Changes]); a reader requests the
// changes after the last serial that it saw and, if it is too far behind, has
// to read the whole list again. So a slow reader does not slow down the intake,
// and no change is lost unnoticed.
package master
