// Package qr2 receives the reports of game servers: QR2 heartbeats over UDP
// (port 27900), the text heartbeats of the protocol before it (QR1) on the same
// port, and the availability check that every game makes before it starts. It
// verifies each server and adds it to the list of package master; it does not
// answer list requests.
//
// # Packets
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
// whose report does not fit 1,400 bytes leaves out players and teams with their
// counts; a host that shuts down sends only its own rules.
//
// Most heartbeats of a listed server are replaced by the next one before
// anything reads them. Only the fixed rules are parsed on receipt (the host's
// own addresses, natneg, statechanged, gamename). They usually come first, but
// every name is checked. The sections are kept as text without the rule
// statechanged. If the text equals that of the last heartbeat, nothing has
// changed; else package master has it parsed when a value is read.
//
// The rule statechanged is the reason for the heartbeat: absent, periodic; 1,
// the game changed; 2, the host shuts down; 3, it starts or has received
// nothing from us yet.
//
// # Registration
//
// Nothing is listed on a heartbeat alone, because its source address may be
// forged. The report is kept and a challenge is sent to the host,
//
//	6 random characters, 2 hex digits of options, 8 of its address, 4 of its port
//
// which it enciphers with the secret key of its game. A host that answers has
// proved that it receives packets at its address and that it knows the key; its
// first report is then listed, and 0x0A is sent to it. The random characters
// are a keyed MAC over its source, its instance key and the minute, so each
// heartbeat of a host is answered with the same challenge, whether or not the
// host was forgotten in between. A challenge is accepted once. A host stops
// repeating its heartbeat as soon as it receives anything, so the master has to
// repeat a lost challenge: every second, five times at the most, and only while
// the unproved address has sent more bytes than it got.
//
// Forged heartbeats must not keep the real hosts of their address off the list.
// So a heartbeat that is as long as the challenge costs no allowance, and when
// too many hosts have not answered, those of one address displace each other
// (package unproved).
//
// The same source with another instance key is a restarted host. It replaces
// the old record only after it has answered its own challenge. Only the holder
// of the instance key at that address can change or remove a record, and only a
// record of this protocol: the instance keys of others are not secret.
//
// After a restart of the daemon the saved list is used for a while. A restored
// server is challenged on its first packet of any kind.
//
// # Messages
//
// A browser that wants to join a host behind a NAT sends a message to it
// through the master (0x06), which repeats it with growing gaps until the
// receipt comes. The host remembers the last ten message keys and delivers each
// once.
//
// # Reachability
//
// Browsers query a host directly only if the list states that it answers
// packets from strangers. The master queries it from a second socket and, if
// there are any, from sockets on other addresses. Only an answer to another
// address proves that it answers strangers: a filter may accept all ports of
// the address that a host reports to. A host that answers only the second
// socket is possibly reachable. If it has NAT negotiation, players should use
// that; else it is listed as reachable. Successful negotiations are recorded,
// too.
//
// # The text protocol
//
// Packets that begin with a backslash belong to the older protocol, whose
// fields are \key\value without lengths:
//
//	host    \heartbeat\PORT\gamename\NAME[\statechanged\[N]] and further fields
//	us      \status\\secure\CHALLENGE     to that port, and to the source of the heartbeat
//	host    its rules and players, \validate\PROOF, in one or more packets
//	any     \echo\TEXT                    sent back as it is, once a second and address
//
// A heartbeat contains almost nothing, and there is no instance key: a host is
// identified by its address and query port, which lists show. So the heartbeat
// only triggers a query. The answer becomes the record, and its proof, made
// with the game's secret key from six random letters, proves the source.
// Further fields of the heartbeat are added after those of the answer. Package
// internal/query reassembles answers.
//
// The proof may come from either port. Behind one address there may be several
// hosts, so a host whose proof came only from the source of its heartbeat does
// not replace a server of another protocol or game.
//
// A listed host is queried again every 60 to 120 seconds, and soon after each
// heartbeat, every time with a new challenge: packets without the right proof
// are rejected. Some hosts never send their proof and their status in one
// answer. They are queried for each in turn when they register; later their
// status is accepted while an answer is due from their address. After ten
// minutes without an answer a host leaves the list.
//
// The end of a host, statechanged 2, looks like a change in some games and can
// be forged. The host is queried, and leaves if it does not answer three times;
// so it is when another game reports from its address.
//
// Games whose hosts never answer \secure\ (games.Policy.NoSecure) prove their
// address with \echo\ and eight letters instead. A host that does not answer
// that either could be forged packet by packet, so it is listed only on
// networks that the operator trusts. A packet that only repeats the query
// proves nothing, and ports of this daemon are never queried.
//
// # Other masters
//
// Masters of 333networks are game servers of the game 333networks to each other. This one sends
// its heartbeat to those of Config.Announce, once a minute, and answers \status\, its parts \basic\,
// \info\ and \rules\, \secure\ and \echo\ in their form, each answer with \queryid\ and \final\. The
// answer to eight bytes has about 250, so only addresses that those names lead to get one, and
// masters that are listed here after their proof; two a second each. All others get no byte, but
// for the echo above.
//
// # Allowances
//
// An unproved address is sent no more bytes than came from it, over all its
// ports, but for one query of 22 bytes per verification: a host is queried at
// two ports, and its heartbeat may be shorter than both queries. Servers of the
// saved list are queried three times without a heartbeat. They proved their
// address before, and their next heartbeat may be five minutes away. No \error\
// is ever sent: some hosts answer it, endlessly.
package qr2
