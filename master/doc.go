// Package master is the list of game servers that answer: who they are, what
// they reported and when they were last heard.
//
// It knows no protocol, no socket and no storage. The intakes (QR2 and its
// siblings) put servers in after they proved their address; the list answerers,
// the web page and the tools read them. What travels between the two is a
// [Server], a record that never changes once it is listed: an update is a new
// record in its place.
//
// Far more reports come in than are ever looked at. An intake may therefore put
// the text of a report into a record ([Source]); it is read once, by the first
// call that asks for a rule, a player or a team. Other callers do not notice: [Fields] and
// [Table] are the same for records made from values ([Report]) and from text.
//
// Readers that must follow the list do not get a queue each. The registry keeps
// one bounded log of changes ([Registry.Changes]); a reader asks for what came
// after the serial it saw last and, when it has been away too long, has to
// read the whole list again. So a slow reader costs the intake nothing and no
// change is dropped unnoticed.
package master
