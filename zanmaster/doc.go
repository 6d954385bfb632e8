// Package zanmaster is the master server of Zandronum (UDP port 15300): game
// servers register with it and receive its ban list, launchers request the list
// of servers. It adds the servers to the list of package master, and answers
// launchers from there.
//
// It does not query servers; package probe does. The forms of the messages and
// the code around them are described in package internal/zandronum.
//
// # Registration
//
// A server announces itself with a challenge: a verification string that it
// chose when it started, whether it enforces the ban list, and its revision. It
// sends the same message every 30 seconds as its heartbeat and never says
// goodbye.
//
//	server                                master
//	5660020 string, enforces, revision ->
//	                                   <- 206 string, number
//	5660029 string, number             ->                       listed
//	                                   <- 207 string, part, items
//	5660030 string                     ->
//	5660020 ...                        ->                       heartbeat, not answered
//
// The number cannot be guessed, so a server that sends it back receives packets
// at its address. It is a keyed MAC over the source, the string and the minute:
// it stays the same while the server repeats its challenge, as the request may
// have been lost, and it is accepted once. Four wrong numbers end the attempt.
// The request is not longer than the challenge, so a forged challenge cannot be
// used to flood others. Therefore it uses no allowance, which forged challenges
// could otherwise exhaust for a real server at their address.
//
// A known address with another verification string is a restarted server. It is
// verified at once, and until then its old entry stays in the list. A server
// that is silent for longer than Config.Timeout is removed.
//
// An address may have ten servers, unless multiserver_whitelist.txt or
// Options.Trusted names it. Those that are being verified do not count, since they
// may never have existed. They are held in a table of their own, in which one
// address pushes out its own servers first.
//
// # Launchers
//
// A launcher's request is 7 bytes and its list may be 31 packets, so lists are
// attractive for amplification. After a list its address waits ten seconds. An
// earlier request is answered once and then not answered for three seconds. In
// addition there are budgets for each /24 and, optionally, for all. An unknown
// message silences its source, address and port, for ten seconds. None of this
// concerns game servers, which may share an address with launchers.
//
// A banned address gets that answer to any packet, as from the original master,
// but at the rate of strangers, and not to an answer of a master: two masters
// that ban each other would exchange packets for ever.
//
// The list is sorted by "address:port" as text and coded once per change; all
// answers are sent from the same bytes, from the address that was asked.
// Packets hold at most 1,026 bytes before coding. An address with more than 255
// servers has several blocks. More than 31 packets are not sent, because a
// widely used launcher cannot count further.
//
// # Ban lists
//
// Four files in the form of the original master and the bans of the store of
// scope zandronum and all are in force together. Files are read at the start, when they
// change, and on Reload. A line is
//
//	a.b.c.d [<mm/dd/yyyy hh:mm>] [:comment]
//
// with "*" for any octet, or a.b.c.d/n, or a.b.c.d-e.f.g.h. The expiry is local
// time. Lines that start with // or # are comments.
//
// Every verified server gets the bans and exemptions, because the server itself
// rejects players. The format has only addresses with "*", so a prefix that
// ends within an octet is sent as up to 128 of them. The list goes in parts of
// at most 1,024 bytes, ten milliseconds apart, and again whenever it changes;
// it has no increments. Servers older than revision 2907 expect it in one
// message. A server that does not send its receipt gets the list again after
// 11, 22, 44 ... seconds, at most every quarter of an hour.
package zanmaster
