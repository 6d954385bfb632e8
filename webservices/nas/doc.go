// Package nas is the backend of package webservices for consoles of Nintendo: it tests their
// connection, signs them in and gives them files. Hosts are known by their first label,
// under any domain.
//
//	conntest, nas, naswii   GET, any path   the connection test
//	nas, naswii             POST /ac        accounts
//	nas, naswii             POST /pr        names
//	dls1                    POST /download  files
//
// The answer to the connection test is any page with the header X-Organization: Nintendo.
//
// # Forms
//
// Requests are forms (k=v&k=v) whose values are in base64 with another alphabet: "." for
// "+", "-" for "/" and "*" for "="; the usual one, and ">" for "+" and "?" for "/", are
// read too. Replies have the same form, and end with CRLF. Keys that begin with "_" come
// from patched games and are left out, as their values have another form. Of a key that
// comes twice the first counts. A body that is not such a form gets status 400, every other
// one 200.
//
// Values are ASCII, but names are UTF-16: low byte first from a DS (unitcd 0), high byte
// first from a Wii (1).
//
// # /ac
//
//	action      reads                                   reply
//	acctcreate                                          002, userid
//	login       userid, gamecd, gsbrcd, unitcd, lang,   001, locator, challenge, token
//	            region, cfc, devname, ingamesn, macadr
//	svcloc      svc                                     007, statusdata, svchost, token or servicetoken
//
// Each reply also has returncd, retry and datetime (UTC, YYYYMMDDhhmmss). acctcreate gives a
// console a random user id and stores nothing. The first login creates the account: one
// for each user id, game (gsbrcd, else three letters of gamecd and J) and, unless the
// configuration says otherwise, hardware address (macadr), as other players can learn the
// user id. The token and the challenge are those of package accounts: presence, statistics
// and other web services accept them for ten minutes.
//
// Return codes from 100 are errors, which the console shows behind 20: 101 the service cannot
// answer now, 103 a value is missing or wrong, 106 too many new accounts from one address,
// 108 the profile was deleted, 109 unknown action, 3914 banned, or no new consoles, with
// retry 1 and a reason.
//
// # /pr
//
// words are separated by tabs, in UTF-8, UTF-16LE or UTF-16BE (wenc), else as above. The
// reply has a digit for each: 0, as all are accepted. It is in prwords, and once more for each
// region in prwordsA, C, E, J, K and P.
//
// # /download
//
// Answers are not encoded. The folder is rhgamecd, the code in the header of the game, or
// gamecd.
//
//	action    reads                          answer
//	count     attr1, attr2, attr3            how many files there are, decimal
//	list      the same, offset, num          name, description, attr1, attr2, attr3 and size of
//	                                         each with tabs between them and CRLF; CRLF alone if
//	                                         there are none
//	contents  contents                       the file of that name
//
// The list is the file _list.txt of the folder, in the form of the answer, or else all files
// there, without description and attributes.
package nas
