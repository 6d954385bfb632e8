// Package ssq answers Standard Server Queries, version 0.31 of a draft of 2002,
// on UDP port 26999: tools query the list in a small language. The formats, and
// a client, are in internal/ssq.
//
// It queries no game servers and writes nothing into the list.
//
// # Questions
//
//	SELECT hostip,hostname,map WHERE game = "zandronum" and numplayers > 0
//	SP players WHERE hostip = "192.0.2.7:10666"
//	CL LONG
//	VERSION
//	AUTH password
//	PING
//
// A question is a text of at most 2,048 bytes after the two bytes of the
// header. Spaces or NULs may follow it. Keywords, names and texts are compared
// without regard to the case of ASCII letters. Values that are not a single
// word are quoted with " or '; within, a backslash precedes a quote or a
// backslash.
//
// An answer is 1 to 16 packets of at most 1,200 bytes and holds a table: cells
// that end with NUL, rows that end with LF NUL, the names of the columns in the
// first one.
//
// # One list instead of one server
//
// The draft assumes one server. Here each row of table info is a listed server,
// and its columns can be combined with those of one other table: then there is
// a row for each player (players), rule (rules) or team (x-teams) of each
// server. A comparison on hostip selects one server; an address without port
// means all servers of that address. x-games has a row for each game that has
// servers and cannot be combined.
//
// Rows are always in the order of hostip, then in the order in which the server
// reported its players or rules.
//
// # Columns
//
// CL LONG lists the columns with their tables and meanings. Besides the columns
// of the draft there are extensions, which begin with x-, among them one for
// every reported name: x-NAME is its rule NAME, x-player-NAME and x-team-NAME
// are columns of its players and teams. A fixed name has priority over a
// reported one. The draft names some columns in two ways; name, ping, pings,
// players and max are playername, playerping, playerping, numplayers and
// maxplayers.
//
// x-source, x-instance, x-local, x-via, x-verdict and reported addresses of
// players are private.
//
// # Decisions
//
// Where the draft is silent or contradictory:
//
//   - The number of packets in a header is counted from 0 like that of the packet:
//     its own example calls 2 a sequence of three.
//   - A newline in a cell is written as a backslash and an n. A backslash and the
//     newline itself is read as well, and so is a row whose last cell ends in LF
//     instead of NUL LF.
//   - There is no way in the draft to ask for a form of header. The normal one is
//     sent unless the question says X-HEADER compact or X-HEADER null; the null
//     header becomes a compact one if a column cannot be returned. If none can,
//     the answer is the null row, whatever was asked for.
//   - and binds more closely than or. There are no parentheses, and a comparison
//     has a column at its left and a value at its right.
//   - numplayers, frags and the like are compared as numbers, hostip by address
//     and port, times and durations as such; a value that is none of the kind is an
//     error. Names are compared as text, byte by byte. rulevalue and reported
//     columns are compared as numbers if both sides are numbers, else as text. A
//     text that a server does not report is empty; a number that it does not
//     report differs from every number and is neither greater nor less.
//   - A column that does not exist, or is private and asked for without a token, is
//     left out of the answer. In a WHERE it is an error: otherwise private values
//     could be guessed there.
//   - SP takes WHERE and IDENTIFIED as SELECT does.
//   - Times are written as E and the seconds since 1970, the duration playertime as
//     HHMMSS, as the draft wants durations; in a WHERE both forms are understood.
//     Fields that are left out of a time are those of now, its zone is UTC unless
//     it says otherwise.
//   - The draft does not say how to ping: PING and SP ping are answered.
//   - VERSION has three columns. GAME is "list".
//   - A question may come in several packets although the longest fits one. At most
//     64 such questions are kept, for 5 seconds each, and none of more than 2,048
//     bytes.
//   - Errors are answered with a table of one column, x-error, and one row. The
//     text about a question that cannot be read and does not end with a token is
//     cut to the length of the question.
//
// # Answers that are too long
//
// An answer that does not fit 16 packets ends with the last row that does, and
// the header has one more cell: x-more=N. N rows precede the first one that was
// left out. The client repeats the question with X-OFFSET N, or with hostip
// greater than the last one received. X-LIMIT N bounds the rows of an answer. A
// value is cut at 1,024 bytes; a row that does not fit any answer is left out
// and counted.
//
// # Proof of the address
//
// An answer may be a thousand times as long as the question, so a client must
// prove that it receives packets sent to its address. The first answer is one
// packet,
//
//	x-token NUL LF NUL token NUL LF NUL
//
// which is never longer than the question, and the client repeats the question
// followed by X-TOKEN token. A question of less than 26 bytes has no room for
// the token and is not answered; clients pad theirs. A token is for an address
// with any port, and valid for five to ten minutes, so that one is enough for
// many questions. It needs no memory: it is a keyed hash of address and time.
//
// A client without support for this gets the table above as its answer, or
// none, unless its network is trusted: then it is answered at once. A ping is
// always answered.
//
// Each proved address and each /24 has a budget of bytes per second, which
// searching the list uses as well. Trusted networks are unlimited.
//
// A packet with bytes after a NUL is an answer, not a question, and is not
// answered: two servers cannot be made to send packets to each other.
//
// # Passwords
//
// AUTH gives a token for the password in the configuration, and an empty one
// for any other. IDENTIFIED with the token shows private columns. It is bound
// to the client's address and valid for half an hour to an hour, or until the
// password is changed. Password and token are sent in the clear, as in the
// draft. An address may try one password per second.
package ssq
