// Package lan finds game servers on the networks of this machine that report to
// no master: it broadcasts queries, as the LAN browsers of the games do, and
// lists the servers that answer (origin lan).
//
// Every round it sends three queries, the text query \status\, the binary query
// FE FD 00 and the request for a challenge FE FD 09 (see package
// internal/query), to the broadcast address of every network, on the query port
// of every game of the catalogue and the two ports after it: servers use the
// next port if theirs is in use. A server that sends a challenge and did not
// answer without one is queried with it by a unicast packet. The packets are
// spaced in time, at most 100 per second.
//
// A2S servers are queried for their info with one more packet, on the ports
// that Steam's own search uses. The addresses that answer go to
// [Options.Found], which queries each server again and lists it.
//
// Only answers from an address on those networks and from one of those ports
// count. The answer must name a game of the catalogue. A found server stays
// listed for three rounds without an answer. A server that also reports by
// itself, in any protocol, keeps its own record.
//
// Servers of Zandronum announce themselves on UDP port 15101, and every two
// minutes they are queried on ports 10666 to 10673, because announcements do
// not reach parts of a class A or B network. The addresses that announced
// themselves, or that answered and may be queried again, are passed to
// [Options.FoundZandronum]; the content of the packets is not used.
//
// It is off unless the operator switches it on: in a foreign network these
// packets are not wanted. It sends nothing outside the networks of this
// machine, and it does not keep registered servers up to date (qr2 does).
package lan
