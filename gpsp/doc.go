// Package gpsp answers account look-ups and registrations of games: the search
// part of the presence protocol, on TCP port 29901.
//
// Players sign in with package gpcm; the rules of accounts are in
// internal/accounts. This package stores nothing.
//
// # Connection
//
// The client sends first. Requests and replies are backslash text (package
// gamespy): \key\value pairs, then \final\. The original client sends one
// request per connection, reads up to the first \final\ and closes; other
// programs send several, which are answered in their order. It waits 60 seconds
// for an answer and does not notice a connection that is closed without one, so
// everything is answered but \ka\.
//
// The first key of a request names it. Keys match in any case of letters, their
// order is free, unknown ones are ignored. A number that is missing or empty is
// 0. Every request ends with \gamename\, which selects nothing.
//
// The client reads replies strictly in their order, with at most 511 bytes to a
// key or value, and it ends its session on any unexpected data. So the order
// below matters, every row has all its keys, and a key that ends a list has an
// empty value. Values never have a backslash or a control character.
//
// # Requests
//
// Replies are shown without their \final\. Braces stand for any number of rows.
//
//	valid         email, partnerid
//	              \vr\1, or \vr\0 if there is no such account
//	nicks         email, password, namespaceid, partnerid
//	              \nr\ROWS {\nick\N\uniquenick\U} \ndone\
//	check         nick, email, password, partnerid
//	              \cur\0\pid\P, or \cur\CODE
//	newuser       nick, email, password, namespaceid, uniquenick, cdkey, partnerid
//	              \nur\0\pid\P, or \nur\CODE, with \pid\P for a nick that exists
//	search        criteria, namespaceid, partnerid, skip
//	              {\bsr\P\nick\N\uniquenick\U\namespaceid\S\firstname\F\lastname\L\email\E}
//	              \bsrdone\\more\M
//	searchunique  uniquenick, namespaces (16 at most, with commas between)
//	              as search; M is always 0
//	uniquesearch  preferrednick, namespaceid
//	              \us\ROWS {\nick\N} \usdone\
//	pmatch        productid
//	              {\psr\P\status\TEXT\nick\N\statuscode\C} \psrdone\
//	others        namespaceid
//	              \others\ {\o\P\nick\N\uniquenick\U\first\F\last\L\email\E} \odone\
//	otherslist    opids (with bars between), namespaceid
//	              \otherslist\ {\o\P\uniquenick\U} \oldone\
//	profilelist   searchprofileid, maxresults
//	              \profilelist\\count\ROWS {\o\P} \pldone\, or \profilelist\\hidden\1
//	ka            nothing; it is not answered
//
// ROWS is always the number of rows: clients allocate memory by it.
//
// A password comes as passenc or passwordenc (see [gamespy.DecodePassword]) or,
// from older clients, plain as pass or password. E-mails, nicks and names are
// looked up without regard to case.
//
// The criteria of a search are nick, uniquenick, email, firstname, lastname and
// icquin. All given ones must match exactly; without any, no profile is found.
// A page has [PageSize] rows. M is 1 if there are more, and the client repeats
// the request with the number of rows that it has as skip. One search reads at
// most [MaxCandidates] profiles.
//
// search, searchunique, pmatch, others, otherslist and profilelist carry the
// sesskey and profileid of a sign-in. The last three require it. For the others
// it is optional: it keeps blocked players out of pmatch.
//
// others lists the profiles that have the asking profile as buddy. otherslist
// has a row for every requested profile, because some clients wait for all of
// them; the unique nick is empty if there is none, or if one of the two blocks
// the other. profilelist lists the buddies of a profile unless its owner hides
// them (public mask 64).
//
// An e-mail is shown as [hidden] unless its owner shows it (public mask 32) or
// it was the search criterion.
//
// # Errors
//
// check and newuser have their codes in the reply, because otherwise the client
// does not report the result to the game:
//
//	512 newuser as such   513 nick   514 password   515 unique nick illegal   516 unique nick taken
//	3584 check as such    3585 no such e-mail   3586 no such nick   3587 wrong password
//
// All other errors are \error\\err\CODE\errmsg\TEXT:
//
//	1 malformed   2 not signed in   3 wrong session key   4 our fault   3328 search as such
//
// An error is never fatal: after \fatal\ here a client also ends its sign-in.
// After a request that is malformed as a whole, unknown or longer than
// [gamespy.MaxMessage] the connection is closed.
//
// # Quotas and privacy
//
// Look-ups and registrations have a quota per minute and address (see
// [Policy]). Requests over it are refused with 3328, 3584 or 512. Guessing
// passwords is bounded by internal/accounts.
//
// With Policy.Private the service reveals nothing that a stranger could
// collect: valid always returns 1, check returns 3587 also for an unknown
// e-mail, search, searchunique and pmatch require a sign-in, an e-mail finds
// only profiles that show it, and otherslist names only profiles that have the
// asking profile as buddy.
package gpsp
