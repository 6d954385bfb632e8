// Package utmaster is a master server in the form of Epic's, for Unreal Tournament
// 2003 and 2004, Unreal 2 XMP and relatives. The catalogue has the games, by the words
// and versions with which they sign in (games.Epic).
//
// The layouts are known from other masters, browsers and query tools, not from
// recordings of the original service. Where those differ, a setting decides, and a line of the log
// at level debug has the received data.
//
// # Messages
//
// A message is its length (uint32, little-endian, without itself) and as many bytes.
// wire.go has the types of fields, hello.go, list.go, uplink.go and state.go the
// messages. One TCP connection has one role:
//
//	peer                        master
//	                       <-   challenge, 8 digits
//	key digest, role       ->
//	                       <-   APPROVED, or DENIED and the end
//
// The key itself never comes, so its digest cannot be verified. It is looked up among
// the banned ones. The log at level debug has a fingerprint of it.
//
// # Browsers
//
// One request, one answer, and the end. From version 3000 on the client sends a digest
// of its files first and expects VERIFIED.
//
//	client                      master
//	list, filters          ->
//	                       <-   number of servers, then a message for each
//
// The servers are those of all origins that have the port of the game (rule hostport).
// An encoded list is shared by all who request the same and is made again once the
// servers of its game have changed.
//
// # Game servers
//
//	server                      master
//	behind NAT, GameSpy    ->
//	                       <-   probes with a code
//	datagrams with it      ->   UDP, the same port number
//	                       <-   its ports as seen from outside
//	state, every minute    ->
//
// A server is listed when a datagram brought the code from its address, or, if none
// came within Config.ProbeWait, when its query port answers a question for its status,
// of 5 bytes. That question comes from another port of the master, once for each
// connection, and its answer shows that packets reach the server which it did not ask
// for. It leaves when its connection ends. Its address in lists of other
// protocols is its GameSpy query port if it reports to GameSpy too, else its own query
// port.
//
// The key digests of players are asked for only with Config.AskKeys.
package utmaster
