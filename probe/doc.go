// Package probe asks game servers what they play and who plays there. One
// [Prober] does it for everybody in the daemon and in every protocol: the text
// and binary status queries of GameSpy's protocols (gs1, gs3), A2S, Standard
// Server Queries and Zandronum's.
//
// # Who is asked
//
//   - Servers that somebody wants to be watched ([Prober.Watch]): an operator
//     (origin static), the Valve-style master, the search on local networks. A
//     watched server is listed at its first valid answer, under the origin of
//     whoever wants it, and kept while it answers. After three visits without an
//     answer it leaves the list. Static ones stay watched and come back; the
//     others are forgotten until somebody wants them again.
//   - Zandronum's servers, if the options say so: all that package zanmaster
//     lists. Their record belongs to the master; what they answer is written
//     into it.
//   - One listed server for which somebody waits ([Prober.Status]).
//
// # How
//
// A visit is a talk with one server: one or several questions, each repeated a
// few times and given up after three seconds. The tables keep, for every
// address, when it is due next; visits begin in that order, so that everybody
// gets his turn however many there are, and no faster than a number per second,
// a number under way and a number under way per host. Times are spread by a
// tenth. A server that does not answer is visited at twice the interval after
// each visit, up to half an hour, as soon as it is not listed any more. Nobody
// is visited sooner than his protocol allows, whoever asks: Zandronum's servers
// answer each address every ten seconds and everybody behind it shares that, so
// they are asked once a minute with a single packet.
//
// Never asked are an address of this daemon, a group, everybody, ports below
// 1024, and banned addresses. Only the address that was asked is listened to,
// and an answer is bounded in packets, bytes and time. What a server says
// changes its own record and nothing else; games that are not in the catalogue
// are accepted up to a number. In the lists of a game with a secret key nobody
// stands who did not prove that he knows it: servers of the Valve-style master
// that name such a game are listed beside it, as NAME.a2s.
//
// # What becomes of the answers
//
// Rules and columns have the names that servers themselves report in the other
// protocols: hostname, mapname, gametype, gamever, numplayers, maxplayers,
// password, hostport; player_, score_, ping_, team_, time_ (minutes).
//
// [Ask] is one visit over a socket of the caller, for tools.
//
// It does not find servers (lan, valvemaster do), and it does not decide who may
// be listed beyond what is said here.
package probe
