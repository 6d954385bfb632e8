// Package theater is Theater, the list of games of Electronic Arts' games of 2007 to 2010: a player
// who has signed in at package fesl offers a game here, and others find and join it.
//
// It signs no one in: the session keys of package fesl/lobby do. The frames are those of package
// fesl/wire. Games talk to each other directly; the service relays nothing, and has neither the
// messenger of these games nor their statistics.
//
// # Messages
//
// A message is a word and a text. Requests have a line TID, a number that their answers repeat. An
// error is the word of the request with one of four letters in the header: ngam (no such game), nrom
// (no such lobby), ntfn (no such player) or bpar (bad value).
//
//	client                                     server
//	CONN  PROT, PROD, VERS                ->
//	                                      <-   CONN  TIME, activityTimeoutSecs, PROT
//	USER  LKEY                            ->
//	                                      <-   USER  NAME
//	LLST                                  ->
//	                                      <-   LLST  NUM-LOBBIES, and LDAT for the lobby
//	GLST  LID, FILTER-...                 ->
//	                                      <-   GLST  NUM-GAMES, and GDAT for each
//	                                      <-   PING, each minute; the client answers it
//
// Every game has one lobby. The key and the game belong to the session at fesl.
//
// # A game
//
//	host                        server                        player
//	CGAM  NAME, PORT, B-...  ->
//	                         <- CGAM  GID, EKEY, SECRET
//	                                                       <- EGAM  GID, PORT
//	                            EGAM  GID                  ->
//	                         <- EGRQ  PID, TICKET, IP, PORT
//	EGRS  PID, ALLOWED=1     ->
//	                            EGEG  TICKET, EKEY, I, P   ->
//	PENT  PID                ->                                is in
//	PLVT  PID                ->                                has left
//
// A full game whose host states QLEN has a queue: EGAM is answered with the word queu, QPOS and QLEN,
// and the host gets QENT, with the lines of EGRQ, when there is a place. KICK with a PID says that a
// player in the game was banned. No source shows what hosts do with QENT and KICK.
//
// A host joins its own game first. A game is listed from its first PENT on, or from the end of the
// first bracket of updates (UBRA with START=1, UGAM, UGDE, UBRA with START=0), and only while the
// shared list of servers has it. It ends with RGAM and with the connection of its host. A bracket has
// an answer for each message in it, at its end.
//
// # Addresses
//
// The address of a player is that of the connection; the port is the one in CGAM or EGAM, or the one
// from which the player's datagram ECHO came. The datagram is answered with address and port.
//
// # Nodes
//
// In a cluster a game belongs to the node of its host. The others list copies of it (nodes.shared). There
// EGAM and GDAT are passed on to its node, where a session without a connection stands for the player; what
// that one is sent comes back with the player's token. A player who leaves is reported to the node, which
// also notices when the player's own node is gone. Numbers of games are random, so that they differ.
package theater
