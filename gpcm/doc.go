// Package gpcm is the presence service that games call the connection manager,
// on TCP port 29900: players sign in with it, see which buddies are there, and
// exchange requests, messages and invitations.
//
// It is not for looking players up (package gpsp), does not decide who may have
// which name or password (internal/accounts), does not know who else is signed
// in (internal/presence), and keeps nothing over a restart (package storage).
//
// # Messages
//
// Both sides send backslash text: pairs of key and value, the first key being
// the command, and \final\ at the end. There is no escape for a backslash.
// Messages may share a segment or be spread over many; one of more than 16 KiB
// ends the connection. Keys match in any case of letters.
//
// Clients look for a key anywhere in a message and take the first occurrence, also
// one inside a value. So the service never writes a backslash or a NUL in a
// value, and a value that is itself a key word gets a space behind it. A client
// takes what has an id for the answer to its request of that id, and drops it
// if there is none: answers repeat the id of the request, errors too, and
// nothing else has one.
//
// In a buddy message and in the location of an invitation the client leaves
// backslashes as they are. So there everything behind the key up to \final\ is
// the text; backslashes become slashes on the way.
//
// # Sign-in
//
//	server  \lc\1\challenge\<10 letters>\id\1
//	client  \newuser\... (only to create an account; answered with \nur\)
//	client  \login\\challenge\<32 characters>\<who>\response\<32 hex digits>...\id\1
//	server  \bdy\<count>\list\<ids>  \blk\<count>\list\<ids>  (if the client knows lists)
//	server  \lc\2\sesskey\<number>\proof\<32 hex digits>\userid\...\profileid\...\id\1
//	server  what has waited: requests, messages; then the statuses of buddies
//
// Who is authtoken, lt (a login ticket), uniquenick, or user with nick@e-mail.
// Package accounts describes how response and proof are made. Whatever goes
// wrong here is fatal: the client is sent an error and the connection ends. A client has
// login_time to sign in; before that it may only send login, newuser, logout
// and ka. Afterwards each command but ka carries the sesskey.
//
// A second login takes over from the first, which hears error 6. Whether that
// goes for the profile or for all profiles of the account, or not at all, is a
// matter of the game; see package games.
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
// An unknown command is counted and ignored. The table in command.go says what
// each command must bring and which error it gets otherwise.
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
// What a client understands it says in sdkrevision, a sum: 1 authorised, 2
// revoked, 4 the newer status, 8 lists at login. Each push is written for its
// receiver. A client without 4 ends its process over the newer status, and one
// of revision 15 over a revocation, so these never get them. A client without 8
// learns its list from the statuses and so hears of every buddy.
//
// The address and port for direct connections between clients are always 0, and
// the sig of a profile is random: everything goes through the server, no
// address leaks, and the password itself is not needed.
//
// # Delivery
//
// A session has a goroutine that reads and carries out, and, while there is
// something, one that writes from a bounded queue. No session waits for another
// else's queue. A newer status
// of a profile replaces one that still waits. Messages are refused
// when the queue is half full, so that a sender cannot drown a receiver;
// anything else that finds it full ends the session. Answers wait, at the cost
// of the client who asked.
//
// Messages for a player who is away, or does not want to be disturbed, wait in
// the store. Data of games, pings and invitations do not wait. Requests stay
// until they are answered or 90 days old, and are shown again at each sign-in.
// A blocked player is not notified.
//
// No message is lost on its way to a client (flight.go, settling.go). What was
// written is kept until the client's system has acknowledged it, within bounds:
// a client that acknowledges nothing is sent nothing more. What has not arrived
// when the connection ends goes into the store. What waited in the store is
// removed from there only after it has arrived. A message may thus come twice.
//
// A client that is quiet is not gone: it sends nothing while it hears something
// every two minutes. Dead ones are found by TCP, by the bound on writes and by
// the user time-out: without it, the system of the server would try for a quarter
// of an hour to reach a client behind a broken line.
package gpcm
