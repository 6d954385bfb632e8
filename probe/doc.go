// Package probe queries game servers for their rules and players. One [Prober]
// serves the whole daemon, in every protocol: the text and binary status queries
// of GameSpy's protocols (gs1, gs3), A2S, Standard Server Queries, Zandronum's and the others of
// [Protocols]. That of Battlefield is over TCP: a visit is one connection.
//
// # Servers
//
//   - Servers on the watch list ([Prober.Watch]): an operator
//     (origin static), the Valve-style master and the search on local networks add
//     to it. A watched server is listed at its first valid answer, under the
//     origin that added it, and kept while it answers. After three visits without
//     an answer it leaves the list. Static ones stay watched and come back; the
//     others are forgotten until they are added again.
//   - Zandronum's servers, if the options say so: all that package zanmaster
//     lists. Their record belongs to the master; their answers are written
//     into it.
//   - One listed server for a caller that waits ([Prober.Status]).
//
// # Visits
//
// A visit is an exchange with one server: one or several questions, each
// repeated a few times and given up after three seconds. The tables hold the
// time of the next visit of every address; visits begin in that order, within
// limits of visits per second, of open visits, and of open visits per host.
// Times are spread by a tenth. For a server that is no longer listed and does
// not answer, the interval doubles after each visit, up to half an hour. No
// server is visited sooner than its protocol allows: Zandronum's servers answer
// each address every ten seconds, which all hosts behind it share, so they are
// queried once a minute with a single packet.
//
// Addresses of this daemon, multicast, broadcast, ports below 1024, and banned
// addresses are never queried. Packets from other addresses are dropped, and an
// answer is bounded in packets, bytes and time. An answer changes only the
// record of its server; games that are not in the catalogue are accepted up to
// a number. The lists of a game with a secret key have only servers that proved
// to know it: servers of the Valve-style master that name such a game are
// listed as NAME.a2s.
//
// # Records
//
// Rules and columns have the names that servers themselves report in the other
// protocols: hostname, mapname, gametype, gamever, numplayers, maxplayers,
// password, hostport; player_, score_, ping_, team_, time_ (minutes).
//
// [Ask] is one visit over a socket of the caller, for tools.
//
// It does not find servers (lan, valvemaster do), and it does not decide which
// servers may be listed beyond these rules.
package probe
