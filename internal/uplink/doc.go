// Package uplink is what masters have in common whose game servers report by themselves
// and prove by an answer that they receive packets at their address. It knows none of
// their protocols, and parses and builds no packet.
//
// Its parts stand alone, so that a master takes those that fit its protocol:
//
//   - Waiting holds the servers that have not answered their challenge: a keyed MAC over
//     source, data of the protocol and time, accepted once. Terms are the differences.
//   - Hosts holds the servers that a master knows, and bounds those of an address.
//   - Drop is why a packet was dropped or a server is not listed, with its verdict.
//   - Rows follows the list of servers in the order of a protocol's lists; Lister keeps
//     such lists encoded.
//   - Posts are sockets from which servers are asked whose protocol brings no challenge
//     back: the one that a server answers to is its challenge.
//   - Keeper is a whole master, but for the protocol, which Dialect describes; Front
//     passes it the datagrams of each port. Those of Quake III's kind, of id Tech 4 and of
//     Neverwinter Nights are such.
//
// A heartbeat proves nothing, for its source may be forged. Keeper.Challenge answers it
// with a question of the protocol, and the answer that brings the challenge back
// (Keeper.Answer) lists the server (Keeper.List) for Config.Timeout.
//
// A listed server that does not answer the question after its heartbeat is asked three
// more times, for it may be loading a map, and leaves the list after 25 seconds: games
// send a last heartbeat when they stop. Servers of the saved list are asked at once.
//
// Budgets bound the traffic to clients that have not proved their address: lists, and answers
// that are longer than their request.
package uplink
