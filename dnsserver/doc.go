// Package dnsserver resolves the host names that games look up, so that players
// only need to change their DNS server. It is for the machines of one network,
// on UDP and TCP port 53.
//
// # Accepted clients
//
// Private, loopback and link-local addresses, and networks that the operator
// names. Questions from other addresses, and those over the rate of an address,
// are dropped without an answer.
//
// # Answers
//
//	name of a game's service, A       one address, for 60 seconds
//	                , SOA             the SOA of the name, which is a zone of its own
//	                , anything else   no record, and that SOA: resolvers cache it for 60 seconds
//	another name                      the answer of an upstream; REFUSED if there is none
//	ANY, zone transfers, other classes (version.bind is one), no recursion wanted   REFUSED
//	other operations                  NOTIMP
//	not one question, or unreadable   FORMERR, in the 12 bytes of a header
//	EDNS of another version than 0    BADVERS
//	an answer, or less than a header  nothing
//
// The names of services come from games.Names. The address is that of this
// machine on the client's own network. Programs on this machine get the one
// that others most likely reach, so that game servers here are listed under it,
// unless only this machine can query. A client on none of its networks gets
// [Options.Address], or else the address that it queried, or else the one of
// the default route.
//
// An answer over UDP is never larger than the client's EDNS allows, 512 bytes
// without EDNS, and at most 1232 bytes. A longer one is truncated with the TC
// bit set, and the client repeats the question over TCP.
//
// An own answer is at most 35 bytes larger than its question, one of an upstream may be
// much larger. Source addresses can be forged in DNS; that is why strangers get
// no answer.
//
// # Upstreams
//
// Each question to an upstream has a random ID and port, is sent to one
// upstream after the other until one answers, and is given up after a few
// seconds (SERVFAIL). An answer must come from the address that was queried and
// match ID and question. If it was truncated, the question is repeated over
// TCP. Nothing is cached.
//
// Concurrent requests for the same data share one question. So a question that
// comes back, because an upstream queries this server in turn, is forwarded
// once and never loops; if it comes from an upstream's own address it is
// dropped, counted and logged.
//
// # Implementation
//
// The codec is github.com/miekg/dns; the loops are those of package netserve.
// Compression pointers in names are limited, and messages from clients have at
// most 1,232 bytes, one question and two records.
//
// It is not a resolver: it follows no delegation, checks no signature, keeps no
// cache and holds no zones.
package dnsserver
