// Package q2master is a master server for Quake 2 and its family: Kingpin, Alien Arena,
// Heretic II and more. Package quake2 has the wire format; package qwmaster is this master in
// QuakeWorld's form.
//
// # Servers
//
// A server sends a heartbeat with its status every five minutes, and ping when the
// master is set; both are answered with ack. No message brings bytes of ours back, so a server
// is proved by where its answers come to: the master asks it for its status from sockets of
// random ports that share no port with the master (uplink.Posts), from one after another in a
// secret order, and lists it once all answers came, each to the socket that asked.
//
//	server                      master
//	heartbeat STATUS     ->
//	                     <-     ack
//	                     <-     status, from a random port
//	print STATUS         ->     and so on, eight times; then listed, for 15 minutes
//
// What this proves: that a program at the address and port receives datagrams and answers
// them as a server does, and that strangers reach it, as its router knows none of the ports.
// A forger who sees the questions passes, as with a challenge. One who does not has to hit
// the order: one chance in 500 million for a heartbeat, and a wrong answer ends it. It is
// not proved that the status is true.
//
// Until the first answer an address gets the ack and one question, which are shorter than a
// heartbeat; shorter heartbeats take from the allowance of their address.
//
// A listed server that does not answer after a heartbeat or a shutdown, which may be forged,
// leaves the list after 25 seconds, as in package uplink.
//
// # Games
//
// No message names the game. What a status says of its engine counts, then the port of the
// server. Requests for a list name none either: they get the game Config.Game. Config.Ports
// are further ports with a game each.
//
// The servers of a list are in one packet, as browsers read no second one: those with players
// first, at most quake2.MaxEntries. Lists are under the budgets of package uplink.
//
// Servers and browsers expect the port of GameSpy's servers, where package qr2 hands them over.
package q2master
