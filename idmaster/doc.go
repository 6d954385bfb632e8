// Package idmaster is a master server for Doom 3, Quake 4 and Prey. Package idtech4 has
// the wire format, package uplink lists the servers.
//
//	server                  master
//	heartbeat        ->
//	                 <-     getInfo CHALLENGE
//	infoResponse     ->     listed, for 16 minutes
//
// The question is two bytes longer than the heartbeat: it takes from the allowance of its
// address. The upper half of the protocol in the answer is the game, as the catalogue has
// it.
//
// Browsers get the servers with their protocol, or all for protocol 0, which tools send.
// Their filters and mods are not looked at: the games filter the answers of servers. Lists
// are under the budgets of package uplink.
//
// Players send their key before they join (clAuth, gameAuth). Every key is accepted: the
// answer is a name made from it, the same each time. Keys are neither checked nor kept.
// Game servers then ask whether the player may join (srvAuth): each may, but those who
// are banned. No answer is longer than its question. Without these answers servers of
// Doom 3 let players in after a time, and those of Quake 4 do not. That an answer made
// here is enough for Quake 4 was not seen.
package idmaster
