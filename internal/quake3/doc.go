// Package quake3 is the wire format of Quake III Arena and the games that took it
// over: id Tech 3, ioquake3, DarkPlaces. Servers, masters and browsers use it. The
// package is pure: it knows no socket, no list and no time.
//
// # Messages
//
// Every datagram begins with four bytes FF, then a word and its arguments, as text:
//
//	heartbeat TAG\n                             server to master, every 300 s
//	getinfo CHALLENGE                           to a server, from a master or browser
//	infoResponse\n\key\value...                 answer, with the challenge
//	getstatus CHALLENGE                         to a server
//	statusResponse\n\key\value...\n             answer, then a line for each player:
//	  SCORE PING "NAME"\n
//	getservers [GAME ]PROTOCOL[ OPTION...]      browser to master
//	getserversResponse                          answer, binary behind the word
//	getserversExt GAME PROTOCOL[ OPTION...]     the same with IPv6
//	getserversExtResponse
//
// The tag says which game a server runs. With a tag such as QuakeArena-1 the server
// may leave its game out and browsers request the list by protocol alone; with
// DarkPlaces both name it. The tables of tags belong to the catalogue of games.
//
// # Lists
//
// Behind the word of a list are the servers, then the end mark:
//
//	\ + address (4) + port (2)     IPv4, network order
//	/ + address (16) + port (2)    IPv6, in getserversExtResponse only
//	\EOT 00 00 00                  end of the list
//
// A list is split into packets of at most MaxList bytes, each with the word. The
// games read an entry only if a \ or / follows it, so a packet without the end
// mark ends with a lone \. They read at most MaxEntries entries of a packet.
package quake3
