// Package valvemaster is a master server in Valve's form (UDP port 27010): game
// servers of the Source and GoldSource families and their descendants send it
// heartbeats, and browsers request the list, page by page.
//
// It lists no server itself. A server that sent a heartbeat is passed to
// [Targets], which queries it over A2S and lists it, with origin
// Origin, at its first answer; so every listed server can be queried.
// Browsers are answered from that list. The messages between game servers and
// players are not implemented here.
//
// # Messages
//
// Numbers are little-endian, but for ports in the list. Requests may begin with
// FF FF FF FF, answers always do.
//
//	game server                           master
//	'q' [FF [nonce, 4 bytes]]          ->
//	                                   <- 's' 0A challenge [nonce]
//	'0' 0A \key\value...\key\value 0A  ->                          watched
//	'b' 0A [\challenge\...]            ->
//
//	browser                               master
//	'1' region "0.0.0.0:0" 00 filter 00 ->
//	                                   <- 'f' 0A (address, port)...
//	'1' region "a.b.c.d:p" 00 filter 00 ->                          next page
//	                                   <- 'f' 0A (address, port)... 0.0.0.0:0
//	'1' region "0.0.0.0:0" 00 ...\key\hex 00 ->                     Xash3D
//	                                   <- 'f' 0A 7F key 08 (address, port)...
//
// Address and port are six bytes in network order. The oldest form of the list
// request, with a number in place of the seed, and the check of a mod's files
// ('M') are not answered. The protocol has no message for a refusal: a refused
// server or browser gets no answer, and the operator finds the reason in the
// verdicts.
//
// # Servers
//
// A challenge is a keyed token over address, port, a time slot of thirty
// seconds, and how many heartbeats of this server were taken. It is valid for
// thirty to sixty seconds and, because of the count, once. Nothing is stored
// for a request, so a flood of forged ones uses no memory.
//
// The answer has at most 14 bytes, and the question may have one: this is an
// exception to the rule that an unproved address is sent no more than it sent.
// It is capped by Config.UnprovedRate per address. On the wire, with the headers of
// IP and UDP, it is 38 bytes for 29, and both fill an Ethernet frame of the
// least size.
//
// Only one value of a heartbeat is used, the region that the server's operator
// chose. All others come from its A2S answers. A server that sent none for
// Config.Timeout is no longer watched and leaves; one that stops answering A2S
// leaves by the rules of Targets.
//
// The goodbye of engines carries no challenge, so it is easily forged, and it
// is only counted: a server that has really stopped no longer answers A2S and
// leaves therefore. One with a challenge like a heartbeat, which is an
// extension of respawnd, removes its server at once.
//
// # Lists
//
// The list is in the order of addresses, then ports. A page begins after the
// seed, whether the seed is still listed or not, so a walk never repeats a
// server, never loops, and ends with 0.0.0.0:0; a page has at least five
// servers, or ends the walk. Listed are servers of origin valve, and of origin
// static and lan if their record comes from A2S.
//
// A request is short and a page long. Until an address and port has shown that
// it receives our pages, a page has at most 8 servers (60 bytes with the end
// mark; the second exception, capped like the first). The proof is an echo: the
// seed is the last server of the page that was sent to it. The list is public,
// so a seed as such proves nothing; therefore each page ends at a random place,
// after 1 to 8 servers, and later after 200 to 230, and two echoes in a row are
// required before pages are full. A client that forges the address of another
// and sees none of our answers guesses right once in 64 tries, then once in 31
// for each further page, and a wrong guess begins at nothing; a page is
// repeated at most three times. The gain is about 90 bytes for three packets,
// not more than from the pages of 8 that every client gets. In addition each
// address and each /24 has a budget. A client on the path that sees the answers
// is bounded only by the budget.
//
// Sent pages are remembered for thirty seconds, for at most 16,384 sources
// that proved themselves and as many that did not, which cannot push out the
// former. A client that is forgotten in the middle of a walk continues in small pages.
//
// The browser of Xash3D puts a random key of 32 bits into its filter, in hex,
// and takes only answers with that key before the servers. It requests only the
// first page and never sends back any data of the master, so it cannot prove
// its address. It gets one packet: a full one of up to 229 servers, and not
// more than 16 times its request, twice in ten seconds per address and
// Config.KeyedPages times in all; and a small page beyond that. This is the
// third exception. A trusted address is sent up to 1,400 servers in several
// packets.
//
// # Regions
//
// A request names a region, 0 to 7, or 255 for all. The region of a server is
// the one of its heartbeat; if that says 255, the one of its country: North
// America is both US East coast and US West coast. A server without a known
// region is in every region: a surplus server is better than an empty list.
// Unknown codes mean all.
//
// # Filters
//
// A filter is a row of \key\value, all of which must hold; case does not count.
//
//	\gamedir\x \map\x          as the server reports it
//	\appid\n \napp\n           the game's number is, is not, n
//	\empty\1 \full\1           not empty, not full
//	\noplayers\1               empty
//	\dedicated\1 \type\d       dedicated
//	\secure\1 \linux\1 \password\1 \proxy\1
//	\white\1                   in servers.static: the operator vouches for it
//	\gametype\a,b              its tags hold all of these
//	\gamedata\a,b              its hidden tags hold all of these
//	\gamedataor\a,b            its hidden tags hold one of these
//	\name_match\x              its name; * stands for any text
//	\version_match\x           its version; likewise
//	\gameaddr\a.b.c.d[:port]   it has this address
//	\collapse_addr_hash\1      one server of each address
//	\nor\n \nand\n \or\n \and\n  over the n conditions that follow
//
// With 0, dedicated, secure, linux, password, proxy and white require the
// opposite; empty, full, noplayers and collapse_addr_hash with 0 have no
// effect. A condition of a group may be a group itself, down to eight levels.
// An empty group and an unknown key have no effect; the latter is counted. The
// number of bots does not count as players. A filter of more than 32
// conditions, more than four with wildcards, more than 64 tags and stars, or
// deeper ones is dropped.
package valvemaster
