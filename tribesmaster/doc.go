// Package tribesmaster is a master server for Starsiege: Tribes, the first game of the series.
//
// # Wire format
//
// Every message begins with 10 and its kind, numbers in hex. Texts are behind their length, a
// byte.
//
//	server                                  master
//	10 05, heartbeat                  ->
//	                                  <-    10 03 ff 00 KEY, a key of 2 bytes
//	10 04, 2 bytes, the same KEY      ->
//	                                        twice more, then listed, for 15 minutes
//	browser
//	10 03 WANTED 00 ID                ->
//	                                  <-    10 06 NUMBER TOTAL ID 00 66, NAME, SERVERS
//
// WANTED is ff for a list, else the number of a packet which was lost. Packets are numbered from
// 1, and repeat the ID of the request, 66 66 if it has none. NAME is that of the master and its
// message of the day, in the first packet only. SERVERS are 00, their number, and for each 06, an
// address of 4 bytes and a port, little endian. A packet has at most 472 bytes behind its head.
//
// # Proof
//
// The key comes back from the address that is listed, so a forged heartbeat lists nothing. But one
// of 65,536 keys is guessed soon by a sender that does not see the questions: with three answers
// to each of 1,000 forged heartbeats a second, a false server would be listed every 22 seconds. So
// a server is asked three times before it is listed, each time with another key, and the third
// wrong answer ends the attempt and its key. A chance of 27 in 2 to the power of 48 is a false
// server in 300 years at that rate. Addresses are not shut out after wrong answers: it would let
// others keep a real server off the list, and would not bound a sender of many addresses.
//
// The questions come from the port of the master, as servers need not answer to others. None is
// longer than the message that it answers, but for short heartbeats, and lists; both are under the
// budgets of package uplink.
//
// No message tells anything of a server, and the package does not query servers: they are listed
// by address, under the game tribes.
package tribesmaster
