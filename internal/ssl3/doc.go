// Package ssl3 is the part of SSL 3.0 that old games speak when they sign in over
// https, or at EA's service: one version (03 00), one cipher suite (TLS_RSA_WITH_RC4_128_MD5, 00 04), no
// compression, no extensions, no resumption, no client certificates.
//
// It is not a protection. SSL 3.0, RC4, MD5 and RSA keys of 1024 bits are broken, and
// the games check no certificate: everyone on the way can read and change the traffic. It exists
// because such games speak nothing else; use crypto/tls for anything else. No package but
// webservices and fesl may import it.
//
// # Wire format
//
// A record is its type (1 byte), the version 03 00, the length of its payload (2 bytes,
// big-endian) and the payload, at most 16384 bytes without its MAC. Handshake messages
// are their kind (1 byte), the length of their body (3 bytes) and the body; a record
// may hold several of them, and a message may continue in the next record.
//
//	client                                   server
//	ClientHello (1)                      →
//	                                     ←   ServerHello (2), Certificate (11), ServerHelloDone (14)
//	ClientKeyExchange (16)               →   the premaster secret, encrypted, without a length
//	ChangeCipherSpec, Finished (20)      →
//	                                     ←   ChangeCipherSpec, Finished
//	application data                     ↔
//
// After ChangeCipherSpec a payload is RC4(data + MAC). The secrets come from the
// premaster pm and the random bytes cr and sr of client and server; + concatenates:
//
//	master = MD5(pm+SHA1("A"+pm+cr+sr)) + MD5(pm+SHA1("BB"+pm+cr+sr)) + MD5(pm+SHA1("CCC"+pm+cr+sr))
//	block  = MD5(master+SHA1("A"+master+sr+cr)) + ... "BB" ... "CCC" ... "DDDD"
//	         client MAC key, server MAC key, client RC4 key, server RC4 key: 16 bytes each
//	MAC    = MD5(key + 5C×48 + MD5(key + 36×48 + seq (8 bytes) + type + length (2 bytes) + data))
//
// The first record of a client may be a hello in the form of SSL 2 instead: its length with the highest bit
// set (2 bytes) and the hello, see parseOldHello. The length does not count in what Finished covers.
//
// A Finished message is an MD5 and a SHA-1 over all handshake messages before it, see
// finished.
package ssl3
