// Package nwmaster is the master of BioWare for Neverwinter Nights, and for its
// successor, whose port is another one. Package nwn has the wire format, package uplink
// lists the servers. Players find servers in GameSpy's list, not here; servers that
// report to both are listed by their GameSpy heartbeats.
//
// A server that reports is asked for its rules (BNXI). The protocol has no challenge, so
// the question comes from a socket with a port that only the server sees, as players ask
// from other ports too: an attacker has to guess the port. The server is asked again after
// each of its reports, and leaves the list if it does not answer.
//
// Players are checked by name and password (BMPA) against the accounts of the daemon, by
// key Config.Accounts. Goroutines of their own do that, behind a queue of bounded length,
// since the store may be on a disk. Every CD key is accepted (BMAU), but those of players
// whose address is banned; keys are not kept.
//
// Answers are not longer than their requests, but for a version (1 byte) and the status
// of Neverwinter Nights 2 (2 bytes), which take from the allowance of an address, as
// questions to servers do after short reports.
package nwmaster
