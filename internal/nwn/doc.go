// Package nwn is the wire format of Neverwinter Nights between its servers, players,
// browsers and the master of BioWare. The package is pure: it knows no socket, no
// account and no time.
//
// Every datagram begins with four letters. Numbers are little endian; a text has its
// length (2) before it. PORT (2) is the port on which the sender listens.
//
//	BMST PORT                                server: are you there?
//	BMSR STATUS                              answer: 0 (2), to Neverwinter Nights 2 0x40 (4)
//	BMSU ...                                 server: it starts
//	BMMO EXPANSIONS (1) MODULE               server: its module
//	BMHB [COUNT (2) ...]                     server: it is there, with its players
//	BMDC PORT COUNT (2) ...                  server: players left; of none: it stops
//	BMPA PORT SALT ACCOUNT HASH LANGUAGE (2) PLATFORM (1) ROLE (1)
//	                                         is this player the owner of the account?
//	BMPR ACCOUNT RESULT (2)                  answer, 0: yes
//	BMAU PORT 1 (2) IP (4) PORT (2) SALT COUNT (2) {PUBLIC HASH} ACCOUNT
//	                                         server: are these keys of a player good?
//	BMAR COUNT (2) {PUBLIC RESULT (2) PRODUCT (2)}
//	                                         answer, 0: yes
//	BMMA PORT 0 (2)                          player: message of the day?
//	BMMB TEXT                                answer
//	BMRA PORT 0 (3)                          player: newest version?
//	BMRB VERSION                             answer
//	BMBI BMBA BMBC BMFG BMBE                 friends
//	BMCA PORT TEXT                           new account; no answer is known
//	BNXI PORT                                to a server: its rules?
//	BNXR PORT ...                            answer, see Rules
//	BNES PORT 0 (1)                          to a server: its name?
//	BNER 'U' PORT 0 (1) NAME                 answer; the length of the name has one byte
//
// HASH of BMPA is the md5hex of the md5hex of the password and the salt. No game was seen
// to use any of this: the layouts are those of public masters and of a tool that asks
// servers of Neverwinter Nights 2.
package nwn
