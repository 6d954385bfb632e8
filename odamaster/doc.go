// Package odamaster is a master server for Odamex.
//
// # Wire format
//
// Numbers are little endian, texts end with a zero byte.
//
//	server                                      master
//	5560020, port (2 bytes)               ->
//	                                      <-    777123, key (4 bytes), to that port
//	5560020, token, key, INFO             ->    listed, for 15 minutes
//	launcher
//	777123                                ->
//	                                      <-    777123, number (2 bytes), addresses of 6 bytes
//
// A server sends its heartbeat every 25 seconds. Old ones leave out the port: it is the one they
// send from. INFO begins with the name, the numbers of players and of places, the map, the files
// of the game and its type; the rest differs between versions and is not read.
//
// The key comes back from the address and port that are listed, so a forged heartbeat lists
// nothing. Wrong keys end the attempt soon, as 4 bytes can be guessed.
//
// A list is one packet of up to 8 KiB. Lists are under the budgets of package uplink.
//
// The package does not query servers: their heartbeats have them say all again.
package odamaster
