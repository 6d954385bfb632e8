// Package gpcm is the presence service that games call the connection manager,
// on TCP port 29900: players sign in with it, see which buddies are online, and
// exchange requests, messages and invitations.
//
// It does not search players (package gpsp does), has no rules for names and
// passwords (internal/accounts), no list of sessions (internal/presence), and
// stores nothing (package storage).
//
// # Messages
//
// Both sides send backslash text: pairs of key and value, the first key being
// the command, and \final\ at the end. There is no escape for a backslash.
// Messages may share a segment or be spread over many; one of more than 16 KiB
// ends the connection. Keys match in any case of letters.
//
// Clients search for a key anywhere in a message and use the first occurrence,
// even inside a value. So the service never writes a backslash or a NUL in a
// value, and appends a space to a value that is itself a key word. A client
// treats a message with an id as the answer to its request with that id, and
// drops it if there is none: answers and errors repeat the id of the request,
// and no other message has one.
//
// In a buddy message and in the location of an invitation the client leaves
// backslashes as they are. So there everything after the key up to \final\ is
// the text; backslashes are forwarded as slashes.
//
// # Sign-in
//
//	server  \lc\1\challenge\<10 letters>\id\1
//	client  \newuser\... (only to create an account; answered with \nur\)
//	client  \login\\challenge\<32 characters>\<who>\response\<32 hex digits>...\id\1
//	server  \bdy\<count>\list\<ids>  \blk\<count>\list\<ids>  (if the client knows lists)
//	server  \lc\2\sesskey\<number>\proof\<32 hex digits>\userid\...\profileid\...\id\1
//	server  stored requests and messages; then the statuses of buddies
//
// Who is authtoken, lt (a login ticket), uniquenick, or user with nick@e-mail.
// Package accounts describes how response and proof are made. Every error here
// is fatal: it is sent to the client and the connection ends. A client has
// login_time to sign in; before that it may only send login, newuser, logout
// and ka. Afterwards each command but ka carries the sesskey.
//
// A second login displaces the first, which gets error 6. Whether that applies
// to the profile, to all profiles of the account, or not at all, depends on the
// game; see package games.
//
// # Commands
//
//	command        values                              answer
//	status         statstring, locstring               -
//	statusinfo     state and nine more                 -
//	addbuddy       newprofileid, reason                -
//	authadd        fromprofileid, sig                  -
//	delbuddy       delprofileid                        -
//	revoke         profileid                           -
//	addblock       profileid                           -
//	removeblock    profileid                           -
//	bm             t, msg; the kind is the value of bm -
//	pinvite        profileid, productid, location      -
//	inviteto       products                            -
//	quiet          - (the flags are its value)         -
//	getprofile     profileid                           pi
//	updatepro      whatever changes                    -
//	updateui       whatever changes                    -
//	newprofile     nick, replace, oldnick              npr
//	delprofile     -                                   dpr, and the connection ends
//	registernick   uniquenick                          rn
//	registercdkey  cdkeyenc, gameid                    rc
//	logout         -                                   the connection ends
//	ka             -                                   -
//
// An unknown command is counted and ignored. The table in command.go has the
// requirements of each command and its errors.
//
// # Pushes
//
//	\bm\1\f\<id>\date\<time>\msg\<text>                          message
//	\bm\2\f\<id>\date\<time>\msg\<reason>|signed|<signature>     request
//	\bm\4\f\<id>\date\<time>\msg\<text>                          authorised
//	\bm\5\f\<id>\date\<time>\msg\<data>                          data of a game
//	\bm\6\f\<id>\date\<time>\msg\<text>|signed|<32 zeros>        revoked
//	\bm\100\f\<id>\msg\|s|<state>|ss|<text>|ls|<place>|ip|0|p|0|qm|<flags>
//	\bm\101\f\<id>\date\<time>\msg\|p|<product>|l|<place>        invitation
//	\bm\102 and \bm\103, as \bm\5                                ping and pong
//	\bsi\\state\...                                              newer status
//	\lt\<ticket>                                                 login ticket
//	\ka\                                                         after silence
//
// A client states its abilities in sdkrevision, a sum: 1 authorised, 2 revoked,
// 4 the newer status, 8 lists at login. Each push is written for its receiver.
// A client without 4 crashes on the newer status, and one of revision 15 on a
// revocation, so these never get them. A client without 8 learns its list from
// the statuses and so gets one for every buddy.
//
// The address and port for direct connections between clients are always 0, and
// the sig of a profile is random: all data goes through the server, no address
// leaks, and the password itself is not needed.
//
// # Delivery
//
// A session has a goroutine that reads and executes commands, and, while there
// is something to write, one that writes from a bounded queue. No session waits
// for the queue of another. A newer status of a profile replaces a waiting one.
// Messages are refused when the queue is half full, so that a sender cannot
// flood a receiver; any other event that finds it full ends the session.
// Answers wait for room, which only delays the client that sent the request.
//
// Messages for a player who is offline, or does not want to be disturbed, wait
// in the store. Data of games, pings and invitations do not wait. Requests stay
// until they are answered or 90 days old, and are shown again at each sign-in.
// A blocked player is not notified.
//
// No message is lost in transit to a client (flight.go, settling.go). Written
// messages are kept until the client's system has acknowledged them, within
// bounds: a client that acknowledges nothing is sent nothing more. Messages
// that have not arrived when the connection ends are stored. Stored messages
// are removed only after they have arrived. In one session a message comes once
// (delivered.go), however many copies there are. It comes again in the next
// session if the earlier one had written it and could not see it arrive: the
// client's system had not acknowledged it, the connection was reset within
// settleTime, or the node of the session died or was cut off.
//
// Messages from one player to another come in their order. A session reads the
// mailbox first, and newer messages wait behind it. While a session of the
// receiver is ending, which may put messages back, newer ones wait (endings.go).
//
// A quiet client is not gone: clients send nothing while they receive data
// every two minutes. Dead ones are detected by TCP, by the time limit for
// writes and by the user time-out: without it, the system of the server would
// try for a quarter of an hour to reach a client behind a broken line.
package gpcm
