// Package natneg introduces two players behind NATs to each other, so that
// their games talk directly: NAT negotiation over UDP (port 27901). It also
// answers the tests by which a client determines the kind of NAT it is behind.
//
// It carries no game traffic, and it does not bring the cookie to the host: the
// list and the host's intake do that (packages master/serverbrowse and qr2).
//
// # Packets
//
// All numbers are big-endian unless said otherwise. Every packet begins with
//
//	FD FC 1E 66 6A B2   version(1)   type(1)   cookie(4)
//
// and continues as follows.
//
//	type  from    name            body
//	0x00  client  init            port type(1) index(1) game port(1) local address(4) local port(2) game name, NUL
//	0x01  us      init receipt    port type(1) index(1) game port(1), 6 bytes without meaning
//	0x02  us      NAT test        port type(1), 8 bytes of the request, or a secret
//	0x03  client  test receipt    the NAT test, while a negotiation with its cookie runs
//	0x04  -       state update    never used; ignored
//	0x05  us      connect         address(4) port(2) got data(1) finished(1)
//	0x06  client  connect receipt port type(1), meaningless; index(1), 7 bytes of rubbish
//	0x07  client  ping            as connect; from client to client, never to us
//	0x08  -       backup test     never used; ignored, as is its receipt 0x09
//	0x0A  client  address check   port type(1), 60 bytes
//	0x0B  us      address reply   3 bytes of the check, address(4) port(2) as we see them
//	                              after a check with our mark also the tests that we can answer (Abilities)
//	0x0C  client  NAT test wanted port type(1), 60 bytes
//	0x0D  client  report          port type(1) index(1) result(1) NAT type(4) mapping(4) game name(50)
//	0x0E  us      report receipt  9 bytes of the report, the result cleared
//	0x0F  client  queue           index(1) state(1) client id(4)
//	0x10  us      queue reply     index(1) state(1) client id(4)
//
// Versions 1 to 4 occur. In version 1 an init ends behind the game port byte, and
// a client's receipts may be as short; ours have their full length, as those of
// the original server had. Reports and NAT tests came with version 3, queueing
// with version 4. NAT type and mapping of a report are in the byte order of
// the client. We answer with the version of the request; longer packets than
// these are accepted, and no answer is longer than its request but the receipt of
// an init of version 1: it has six bytes more, 100 times per second in all, and
// the length of the init beyond that.
//
// # Negotiation
//
// The clients agree on a random cookie; the joining one has index 0, the host
// index 1. Up to eight may negotiate with one cookie, under the indexes 0 to 7:
// each is introduced to each of the others, to one after the other. The cookie
// alone decides who meets, because editions of one game give different names;
// the game name decides between negotiations that happen to have one cookie.
// Each client sends inits from up to two sockets: its game's own (port
// type 0, if the game port byte says that there is one) and one for the
// negotiation (port type 1 to natneg1, 2 to natneg2, 3 to natneg3). Each init
// is confirmed at once, and every time. The local port is only in the inits of
// port types 2 and 3.
//
// A client is complete when all the inits of its version have come, and ready
// when at least the ones that matter have and a little more than a second has
// passed. When two are ready, each is sent the other's address (connect) to
// where its init of port type 1 came from: only there is its NAT known to let
// us in. A connect is repeated with growing gaps, all within eight seconds,
// until it is confirmed; the clients act on the first one that they get.
//
// They then ping each other. A client that is pinged turns to where the ping came
// from, so one right address of the two is enough. In the end both report how
// it went, from version 3 on; a report is always confirmed, because clients wait
// for that.
//
// Someone whose partner does not come is sent a refusal after 25 seconds (finished 1), and
// someone whose inits stopped half-way soon after they did (finished 2).
// A client that starts again with the same cookie opens a new round, for which
// its partners have to start again too.
//
// # Tests of routers
//
// A client returns a NAT test that has the cookie of its negotiation to where it came from. So
// each complete client is sent one from where its init of port type 1 went to, with a secret: its
// return proves that the client receives at its address. Then it is sent tests from another port
// of ours, to its negotiation socket and to its game's: a return shows that its router lets in
// other ports of an address that the client wrote to. Each test is sent at most twice, within
// less than a second, and players in different networks are introduced afterwards.
//
// # Players with several public addresses
//
// A carrier's NAT may send the packets of one client from several public
// addresses. The inits for one index are one client's, although they come from
// different addresses, if game, version, local address and local port agree and
// the client has not been introduced yet. An unknown local address or port agrees
// with nothing. Clients tell their local port in port types 2 and 3 alone, so the
// other inits of an address wait for one of those. Each port type counts with the
// address that it came from: the partner is sent where the game's socket is seen,
// and connects go to the negotiation socket. This does not change for a partner that
// was told, until the client begins again.
//
// The game's socket and the negotiation socket may leave by different routes. The first
// one does not tell its local port, so the local IP address has to do: the two become one
// client after three seconds in which neither address sent the other half, unless a third
// address wants the place. The tests of the router are those of the negotiation's route, and
// say nothing about the game's.
//
// # Which address
//
// The address of a client is where its game socket is seen, or its negotiation
// socket if the game has none. Inits that reach different addresses of ours
// show how the NAT assigns its ports: a steady step from one to the next is
// continued, because the partner will be met on the next port. Two clients with
// the same public address are given their local addresses where these look like
// one network; where that is not sure, only the joining client is.
//
// # Players who cannot connect
//
// A direct connection works if the router of one of the two is loose: lets in other ports of an
// address that was written to. It also works if the ports of both towards each other can be foretold. It
// cannot work between a port that cannot be foretold and a router that is not loose. With one
// address, nothing else is known of two routers that are not loose.
//
// The players of a pair are sent to the relay, if there is one (service.Relay), in place of
// each other's addresses: if a direct connection cannot work, if it is not known whether it works
// (Relay.First), if both reported failure before, or if they are introduced again within a minute
// without a report of success. The relay opens sockets, so the introduction waits for it, at most
// three seconds; without an answer, or if it has no room, they are sent to each other.
//
// The relay shows what the tests cannot: whether a client has the same port towards it as towards
// us. It sends a packet to each proved client first, from the port that the client will send to,
// because some routers take another port for a partner whose packet came too early. The result
// is stored for the address of the router, so that two clients whose ports stay the same are sent
// to each other the next time.
//
// If the router of only one of the two is loose, its client gets its connect first, and the other
// one when that is confirmed. Linux keeps out for good a partner whose packet came before the
// first one to it, where no rule of the firewall drops such packets.
//
// Facts stored about a pair are indexed by their public and local addresses and by whether their
// routers are loose, because the
// cookie and the ports are others the next time. Pairs are bounded, and the oldest is
// forgotten.
//
// # NAT tests
//
// A client asks for three tests at natneg1 (port types 1, 2) and natneg2
// (3) and sends four address checks. The answer to test 2 has to come from an
// address that it never wrote to, and the one to test 3 from another port of an
// address that it did write to. Tests without a meaningful result are not answered:
// the client then takes its NAT for the stricter kind. Test 2 waits for the client's test 3, which
// shows its natneg2, and is answered from the last of our further addresses that is neither that
// one nor its natneg1; one address of two is left if all names lead to the other. If the main
// socket is on all addresses, the others of this machine follow, a private one only for a client
// on a private network that wrote to another private one. The log says where none is left. Test 3
// is answered from the second socket.
//
// # Several nodes
//
// In a cluster the halves of a pair may speak to different nodes. The negotiation of a
// cookie is on the node that cluster.Bus.Owner names for it. The others check and limit
// packets, answer those that need no negotiation, and forward inits, receipts of
// connects and reports (subject natneg.packet). Everything that the negotiation sends,
// receipts of inits included, leaves from the socket that the client spoke to: its node
// is sent an order (natneg.send), which it follows for addresses that sent it packets
// with the cookie, and no further than those pay for. An init is confirmed only by the
// node that holds the negotiation, so that clients repeat it while that node is gone.
// Each node keeps the inits that came to it; when a cookie moves to another node,
// because one came or left, they are forwarded again, and negotiations that have no
// pair yet begin again there.
//
// Nodes are different addresses of ours: inits that reach three of them show the steps
// of a NAT. With Config.Nodes, natneg1 has the answer to NAT test 2 sent by natneg3
// (natneg.test).
//
// Facts to store about pairs and routers are sent to all nodes (natneg.pairs). A pair is
// relayed by the node that holds its negotiation.
//
// # Attacks by strangers
//
// The cookie is the only secret of the protocol, and source addresses can be
// forged. The first public address that sends a cookie and an index
// keeps that place, another one gets its receipt and nothing else, unless it knows
// the client's local address and port, or the address and the client's other half does
// not come; even then nothing that came from the first
// address is replaced. An
// address that would be its own partner is not introduced to itself. To one that
// sent n packets with a cookie at most n connects and tests are sent until it has proved that it
// receives them, and never more than ten connects for each partner. A client that sent two packets
// or fewer is not tested. Packets are limited by source before all that.
// Receipts and reports count only from where the inits came. Open cookies are
// bounded in all and by address; where there is no room, the oldest
// one without a partner goes.
package natneg
