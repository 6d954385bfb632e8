// Package natcheck tests, on the computer of a player, its router to the internet, with the NAT
// tests of a natneg server: how the router maps ports, which senders it lets in, whether it keeps
// port numbers, and whether it leads its own public address back inside.
//
// Two sockets are used. The first sends address checks to all addresses and ports of
// the server, which tell where they see it. The second asks for NAT tests at natneg1
// alone: an answer from an address or a port that it never wrote to shows that the
// router lets strangers in. Each packet is repeated a few times, and each phase has a
// time-out.
package natcheck
