// Package qr2 takes in what game servers report: QR2 heartbeats over UDP
// (port 27900), the text heartbeats of the protocol before it (QR1) on the same
// port, and beside them the availability check that every game makes before it
// starts. It verifies each server and puts it into the list of package master;
// it answers no lists.
//
// # Who speaks
//
// A host is a game server. Packets from a host begin with the packet kind, ours
// begin with FE FD:
//
//	host -> master   kind(1) instance key(4) body
//	master -> host   FE FD kind(1) key(4) body         (at most 255 bytes)
//
// The instance key is chosen by the host when it starts, and all its packets
// carry it. A host is known by its source address, port and instance key.
//
//	kind  from   name               body
//	0x00  us     query              which keys are wanted; we ask for all: FF FF FF
//	0x00  host   query reply        the key of the query is repeated
//	0x01  us     challenge          text, NUL
//	0x01  host   response           base64 text, NUL
//	0x03  host   heartbeat          see below
//	0x04  us     refusal            code(1), text, NUL
//	0x05  host   echo reply         ignored
//	0x06  us     client message     message key(4), data of at most 244 bytes
//	0x07  host   message receipt    message key(4)
//	0x08  host   keepalive          nothing
//	0x08  us     keepalive reply    nothing
//	0x09  any    availability       four bytes, game name, NUL
//	0x09  us     availability       FE FD 09, 32 bits big-endian: 1 gone, 2 down for now
//	0x09  host   address check      answers a prequery of our reachability probe
//	0x0A  us     registered         nothing
//
// # Heartbeat
//
// After the header come three sections: rules as name and value pairs, each
// NUL-terminated, up to an empty name; then players and teams, each as a 16-bit
// big-endian number of rows, column names up to an empty one, and the values
// row by row. A value may be empty, so two NULs in a row end nothing. A host
// whose report does not fit 1,400 bytes leaves players and teams out, counts
// and all; a host that shuts down sends its own rules alone.
//
// Most heartbeats of a listed server are replaced by the next one before
// anything reads them. Only the fixed rules are read when one comes (the host's own
// addresses, natneg, statechanged, gamename). They come before all others, but
// nothing relies on that: every name is looked at. The sections are kept as text
// without the rule statechanged. If the text is that of the last heartbeat,
// nothing is new; else package master has it parsed when it is asked for.
//
// The rule statechanged says why the heartbeat comes: absent, periodic; 1, the
// game changed; 2, the host shuts down; 3, it starts or has received nothing from us yet.
//
// # Registration
//
// Nothing is listed on a heartbeat alone, because its source address may be
// forged. The report is kept and the host is sent a challenge,
//
//	6 random characters, 2 hex digits of options, 8 of its address, 4 of its port
//
// which it enciphers with the secret key of its game. A host that answers has
// proved that it receives what is sent to its address and that it knows the
// key; its first report is then listed, and it is sent 0x0A. The random characters
// are a keyed MAC over its source, its instance key and the minute, so each
// heartbeat of a host is answered with the same challenge, whether or not the host
// was forgotten in between. A challenge is accepted once. A host
// stops repeating itself as soon as it hears anything from us, so a lost
// challenge is ours to repeat: every second, five times at the most, and only
// while the unproved address has sent us more bytes than it got.
//
// Forged heartbeats must not keep the real hosts of their address off the list. So
// a heartbeat that is as long as the challenge costs no allowance, and when there
// are too many hosts that have not answered, those of one address make room for
// each other (package unproved).
//
// The same source with another instance key is a host that was restarted. It
// replaces the old record only once it has answered its own challenge. Only the
// holder of the instance key at that address can change or remove a record, and
// only one that came from this protocol: the instance keys of others are no
// secret.
//
// After a restart of the daemon the saved list is shown for a while. A restored
// server is challenged on its first packet, whatever that is.
//
// # Messages
//
// A browser that wants to join a host behind a NAT has us carry a message to
// it (0x06). It is repeated with growing gaps until the receipt comes. The host
// remembers the last ten message keys and delivers each once.
//
// # Reachability
//
// Browsers query a host directly only if the list says that it answers packets
// from strangers. We query it from a second socket and, if there are any, from
// sockets on other addresses. Only an answer to another address shows that it
// answers strangers: a filter may let in the address that a host reports to, at
// every port. A host that answers the second socket alone is perhaps reachable. If
// it has NAT negotiation, players are to use that; else it is listed as reachable.
// A negotiation that succeeded is noted, too.
//
// # The text protocol
//
// Packets that begin with a backslash are of the older protocol, whose fields
// are \key\value without lengths:
//
//	host    \heartbeat\PORT\gamename\NAME[\statechanged\[N]] and further fields
//	us      \status\\secure\CHALLENGE     to that port, and to the source of the heartbeat
//	host    its rules and players, \validate\PROOF, in one or more packets
//	any     \echo\TEXT                    sent back as it is, once a second and address
//
// A heartbeat says next to nothing, and there is no instance key: a host is
// known by its address and the port on which it answers queries, and lists show
// it under these. So the heartbeat only makes us ask, and the answer does the
// rest: what it says becomes the record, its proof, made with the game's secret
// key from six letters that cannot be guessed, shows that it comes from there.
// Fields of the heartbeat that say more are kept behind those of the answer. Package
// internal/query puts answers together.
//
// The proof may come from either port. Behind one address there may be several
// hosts, so a host whose proof came from the source of its heartbeat alone does
// not take the place of a server of another protocol or game.
//
// A listed host is asked again every 60 to 120 seconds, and soon after each
// heartbeat, every time with a new challenge: without the right proof nothing
// that claims to come from it is believed. Some hosts give their proof and their
// status never in one answer. They are asked for each in turn when they
// register; later their status is believed while an answer is due from their
// address. After ten minutes without an answer a host leaves the list.
//
// The end of a host, statechanged 2, looks like a change in some games and can
// be forged. The host is asked, and leaves if it does not answer
// three times. The same is done when another game reports from its address.
//
// Games whose hosts never answer \secure\ (games.Policy.NoSecure) prove their
// address with \echo\ and eight letters instead. A host that does not answer
// that either could be forged packet by packet, so it is listed only on networks
// that the operator trusts. A packet that only repeats our question proves
// nothing, and no port of this daemon is ever asked.
//
// An address that has proved nothing is sent no more bytes than came from it,
// over all its ports, but for one query of 22 bytes per verification: a host is
// asked at two ports, and its heartbeat may be shorter than both questions.
// Servers of the saved list are asked three times without a heartbeat. They
// proved their address before, and their next heartbeat may be five minutes
// away. No \error\ is ever sent: some hosts answer it, without end.
package qr2
