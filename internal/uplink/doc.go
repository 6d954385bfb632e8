// Package uplink lists the game servers that report to a master by heartbeats over
// UDP. Masters of Quake III's kind use it; it knows none of their protocols.
//
// A heartbeat proves nothing, for its source may be forged. Keeper.Hear answers it with
// a question of the protocol, which holds a challenge: a keyed MAC over source, data of
// the protocol and time, accepted once. The answer that brings it back (Keeper.Answer)
// lists the server (Keeper.List) for Config.Timeout.
//
// A listed server that does not answer the question after its heartbeat is asked three
// more times, for it may be loading a map, and leaves the list after 25 seconds: games
// send a last heartbeat when they stop. Servers of the saved list are asked at once.
//
// Budgets bound the traffic to clients that have not proved their address: lists, and answers
// that are longer than their request.
package uplink
