// Package torquemaster is a master server for games of the Torque engine, which came from
// Tribes 2.
//
// # Wire format
//
// Numbers are little endian. Every message begins with its kind and flags, a byte each, and 4
// bytes that an answer repeats. Texts are behind their length, a byte.
//
//	server                               master
//	22, heartbeat                  ->
//	                               <-    10, the 4 bytes are a key
//	12, the same key, INFO         ->    listed, for 15 minutes
//	browser
//	2, which types of games        ->
//	                               <-    4, types of games, types of missions
//	6, WANTED                      ->
//	                               <-    8, index, number of packets, number of servers, addresses of 6 bytes
//
// Servers send a heartbeat every two minutes. INFO begins with the type of the game and that of
// the mission, and the numbers of places and players; some servers announce more players than
// they name, so their identities are not read.
//
// WANTED begins with an index, 255 for a list, else that of a packet which was lost, and the
// types of game and mission, or any. The type of game and whether servers may be empty select
// servers; browsers apply the rest of it, such as regions, when they query the servers.
//
// The key comes back from the address that is listed, so a forged heartbeat lists nothing; a
// question is as long as its heartbeat. Wrong keys end the attempt soon, as 4 bytes can be
// guessed. Lists are under the budgets of package uplink.
//
// No message names the game: all servers are those of the game torque. The package does not query
// servers: their heartbeats have them say all again. It does not compress texts, and has neither
// the lists with IPv6 nor the challenge for browsers of newer engines, which use them only after an
// answer that offers them.
package torquemaster
