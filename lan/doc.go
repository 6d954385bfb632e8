// Package lan finds game servers on the networks of this machine that never
// heard of a master: it asks everybody there, as the LAN browsers of the games
// do, and lists who answers (origin lan).
//
// Every round it sends three questions, the text query \status\, the binary query
// FE FD 00 and the one for a challenge FE FD 09 (see package internal/query), to
// the broadcast address of every network, on the query port of every game of the
// catalogue and the two ports behind it: servers take the next one if theirs is in
// use. A server that sends a challenge and did not answer without one is asked with
// it, by itself. Packets are spaced out; a round never sends more than 100 a
// second.
//
// A2S servers are asked for their info with one more question, on the ports that
// Steam's own search uses. The addresses that answer go to [Options.Found],
// which asks each again, by itself, and lists it.
//
// Only answers from an address of those networks and one of those ports count.
// The answer must name a game of the catalogue. A found server stays listed for
// three rounds without an answer. One that reports by itself, in whatever
// protocol, keeps its own record.
//
// Servers of Zandronum announce themselves on UDP port 15101, and every two minutes
// they are asked on ports 10666 to 10673, because announcements do not reach parts
// of a class A or B network. The addresses of those that are heard, or that
// answered and may be asked again, are handed on ([Options.FoundZandronum]); what they say
// is for others.
//
// It is off unless the operator switches it on: on a network of strangers these
// packets are not wanted. It sends nothing outside the networks of this machine, and
// it is not how registered servers are kept up to date (qr2).
package lan
