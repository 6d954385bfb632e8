// Package dnsserver answers the host names that games look up, so that players
// need to set nothing but their DNS server. It is for the machines of one
// network, on UDP and TCP port 53.
//
// # Accepted clients
//
// Private, loopback and link-local addresses, and networks that the operator
// names. All others are dropped without an answer, and so is what is over the
// rate of an address.
//
// # What is answered
//
//	name of a game's service, A       one address, for 60 seconds
//	                , anything else   no error and no record: there is no other address
//	another name                      what an upstream says; REFUSED if there is none
//	ANY, zone transfers, other classes (version.bind is one), no recursion wanted   REFUSED
//	other operations                  NOTIMP
//	not one question, or unreadable   FORMERR, in the 12 bytes of a header
//	EDNS of another version than 0    BADVERS
//	an answer, or less than a header  nothing
//
// Which names are those of services is decided elsewhere (games.Names). The
// address is that of this machine on the client's own network. Programs on this
// machine are given the one that others most likely reach, so that game servers
// here are listed under it, unless only this machine can ask. A client on
// none of its networks is given [Options.Address], or else the address that it asked,
// or else the one on the way to the rest of the world.
//
// An answer over UDP is never larger than what the client's EDNS allows, 512
// bytes without, 1232 in any case. What does not fit has the TC bit, and the
// client asks again over TCP.
//
// An answer of ours is 16 bytes larger than its question, one of an upstream may
// be much larger. Addresses prove nothing in DNS; that is why strangers are not
// answered.
//
// # Upstreams
//
// Each question to an upstream has an identification and a port that cannot
// guess, is sent to one upstream after the other until one answers, and is given
// up after a few seconds (SERVFAIL). An answer must come from the address that
// was asked and have identification and question right. If it was cut, it is
// asked for again over TCP. Nothing is kept.
//
// Concurrent requests for the same data share one question. So a question
// that comes back to us, because an upstream asks us in turn, goes out once and
// never round in circles; where it comes from an upstream's own address it is
// dropped, counted and logged.
//
// # How it is done
//
// The codec is github.com/miekg/dns; the loops are those of package netserve.
// Names are read with a bound on their pointers, and messages from clients have
// at most 1,232 bytes, one question and two records.
//
// It is not a resolver: it follows no delegation, checks no signature, keeps no
// cache and holds no zones.
package dnsserver
