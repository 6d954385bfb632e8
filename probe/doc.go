// Package probe queries game servers for their rules and players. One [Prober]
// serves the whole daemon, in every protocol: the text and binary status queries
// of GameSpy's protocols (gs1, gs3), A2S, Standard Server Queries and Zandronum's.
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
//     lists. Their record belongs to the master; what they answer is written
//     into it.
//   - One listed server for a caller that waits ([Prober.Status]).
//
// # How
//
// A visit is a talk with one server: one or several questions, each repeated a
// few times and given up after three seconds. The tables keep, for every
// address, when it is due next; visits begin in that order, so that every
// server has its turn, and no faster than a number per second, a number under way
// and a number under way per host. Times are spread by a
// tenth. A server that does not answer is visited at twice the interval after
// each visit, up to half an hour, as soon as it is not listed any more. No
// server is visited sooner than its protocol allows: Zandronum's servers answer
// each address every ten seconds, which all hosts behind it share, so they are
// asked once a minute with a single packet.
//
// Never asked are addresses of this daemon, multicast, broadcast, ports below
// 1024, and banned addresses. Packets of other addresses are dropped, and an
// answer is bounded in packets, bytes and time. What a server says
// changes its own record and nothing else; games that are not in the catalogue
// are accepted up to a number. The lists of a game with a secret key have
// only servers that proved to know it: servers of the Valve-style master that name
// such a game are listed beside it, as NAME.a2s.
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
