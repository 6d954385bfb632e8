// Package competition is the backend of the web services to which games report matches. It knows no
// game: the meaning of a result or a key is up to the game and to the boards of its leaderboards.
//
// # A match
//
// One player makes a session (CreateSession) and gives its id, csid, to the others,
// outside of this service. Each of them announces a report (SetReportIntention), and
// gets the id of its connection, ccid. After the match each sends a report
// (SubmitReport), which names the players by their ccid. A session for a single player
// is made with CreateMatchlessSession. Every request carries the certificate and the
// proof of a login, see Verifier.
//
// Reports with the same results are one version of the match. Keys do not count: sides
// may have counted differently. The first report makes the match, which is stored before
// the answer. It is settled when all sides have reported, when the host reports, or some
// time after the first report:
//
//	agreed     all sides report the same results
//	host       the player that made the session announced an authoritative report: it
//	           counts at once, whatever others report
//	unopposed  not all sides reported, those that did agree
//	disputed   the sides report different results: none counts
//	broken     all reports say that the match did not end
//
// Reports that say so do not count if there are others. The results of agreed, host and
// unopposed matches go to the leaderboards. Any player can claim to be the host of a
// session that it makes itself, never of one of others.
//
// A board with the rule elo keeps ratings: settled matches that have its key change those of
// their players, see Backend.ratings. Games of EA read theirs on a page, see ladders.
//
// # Messages
//
// The methods are at two paths: that of the first client libraries, and that of the last one,
// which also asks whether a host is banned (CheckProfileOnBanList, always no).
//
// A request is SOAP, a report a DIME message of two records: the SOAP envelope and the
// report. Lengths are big-endian and exclude the padding of id, type and data to a
// multiple of four:
//
//	version (5 bits, 1), flags (first 4, last 2, chunked 1); type format (4 bits), 0;
//	length of options, id, type (2 bytes each) and data (4 bytes); options, id, type, data
//
// Games announce a Content-Length that may be too large: the record with the flag last
// ends the message.
//
// A report has a header of 68 bytes and six sections. Numbers are big-endian, but for
// float32:
//
//	 0  version 2 (4)                       36  keys of the match (2)
//	 4  version of the game's header (4)    38  keys of all players (2)
//	 8  MD5 with itself zeroed (16)         40  keys of all teams (2), then 0 (2)
//	24  status (4)                          44  length of the roster, 20 per player (4)
//	28  flags (4)                           48  of the authentication, 16 per player (4)
//	32  players (2)                         52  of the results, 4 per player and team (4)
//	34  teams (2)                           56  of the sections of keys (4 each)
//
//	roster          ccid (16), id of the team (4)
//	authentication  16 bytes, zero
//	results         of the players, then of the teams in the order of their first player
//	keys            of the match; of each player after their number (2); of each team likewise
//
// A key is its number (2), its type (2) and the value: int32 (0), int16 (1), byte (2), a
// string (3), float32 in little-endian (4), int64 (5). A string has its length before it,
// one byte and another one for each 127 bytes, all of which are the same.
package competition
