// Package peerchat is the chat service of games with Peer lobbies, on TCP port
// 6667: an IRC server with a cipher, keys, and clients that are strict about the form of replies.
//
// Players meet here in the title room of their game, choose a group room, and
// create or join the staging room of a server. The service carries their messages and the flags
// that they set. It does not know game servers (package qr2), does not list rooms to games (package
// master/serverbrowse), does not decide who may have which name or password (internal/accounts),
// and never connects players to each other.
//
// # Lines
//
// Both sides send lines: a command or a three-digit number, then parameters,
// between which spaces stand. A parameter that begins with a colon is the rest of
// the line, may be empty, and may have spaces. Lines of the server end with CR LF; a
// client may end its with LF alone and has at most 4096 bytes for each, end
// included. Empty lines are skipped. Lines share segments or are spread over them
// at any byte.
//
// A client ends a line at CR as well as at LF. A CR in a relayed text would thus let
// one player forge lines of the server for another: CR, LF and NUL are removed from
// everything that is written (appendClean). All other bytes pass as they are: texts
// are Latin-1 or UTF-8, and nothing says which.
//
// The prefix in front of a server's line is a single letter, or nick!user@host for an action of a
// player:
//
//	:s 433 * Ann :Nickname is already in use
//	:Ann!X1lsaFvqsX|100001@127.0.0.1 PRIVMSG #GSP!gmtest :hello
//	PING :12345678
//
// The client counts parameters, the target among them, and drops a line with one
// too many or too few without a word. So parameters other than the last are written
// without spaces and without a colon in front, and an empty one as *. Two lines look
// odd and must: 302 before sign-on has an empty target, hence two spaces, and the
// modes of a MODE have no colon in front, else the client loses their arguments.
//
// # Cipher
//
//	client  CRYPT des 1 <game>
//	server  :s 705 * <challenge of the client> <challenge of the server>
//
// These two lines are clear. Behind its own line each side enciphers every byte, the
// ends of lines too, with one stream for the connection: the client with the first
// challenge, the server with the second, each mixed with the secret key of the game.
// "des" is only a word: the cipher is RC4 with another first permutation. Nothing
// may follow 705 until the client has sent something, for a client that reads
// more in the same segment takes it for clear text.
//
// A client that does not send CRYPT stays in clear text: old games, and the IRC
// clients of people.
//
// # Sign-on
//
//	client  LOGIN <namespace> <unique nick> <MD5 of the password>    if it has an account
//	client  LOGIN <namespace> * <MD5 of the password> :<nick>@<e-mail>
//	client  LOGINPREAUTH <token> <challenge>
//	server  :s 707 * <account> <profile>                             or 708, refused
//	client  USRIP
//	server  :s 302  :=+@<address of the client>
//	client  USER <name> 127.0.0.1 peerchat.gamespy.com :<text>
//	client  NICK <nick>                                              or *, its unique nick
//	server  :s 001 <nick> :Welcome
//
// The client computes the name of its staging room from the address in 302, and others compute
// it from the server list: it must be the address under which qr2 lists the server of that
// client. Both use the private address of the host too: its library takes its first address in
// 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, or 0.0.0.0, others take the local address in
// the list, or 0.0.0.0 if there is none.
//
// The user name of Peer's clients carries address and profile: X, eight letters for
// the address, X|, the profile in decimal. It proves nothing. The client takes
// its nick from 001, exactly as it stands there, and later compares its own nick
// with the case of letters. A refused nick (432, 433) or none (709, 710) leaves it
// connecting: it sends NICK again, or REGISTERNICK, which 711 refuses with
// suggestions.
//
// A nick that a client chooses has 1 to 20 characters of printable ASCII, none of
// them space, backslash or exclamation mark, the first none of @ # + and colon. One
// that the server assigns may be longer, up to 32. Nicks that differ in the case of
// ASCII letters only are the same. Those of services (serviceNicks, and the nicks of programs of
// the catalogue) are refused with 433.
//
// # Channels
//
//	#GSP!<game>                 title room
//	#GPG!<number>               group room, which the operator defines
//	#GSP!<game>!M<8 letters>M   staging room; the letters encode addresses and a port
//	#GSP!<game>!X<8 letters>X   staging room of old games
//
// Anything else behind # is a channel too, up to 256 bytes without spaces, commas
// and control characters. Names are the same if they differ in the case of ASCII
// letters only, but behind the second exclamation mark of a staging room case
// matters. The client waits for the name as it wrote it itself.
//
// A new member sees, in this order, its own JOIN, the topic (332), the members
// (353, as often as needed), and their end (366), which completes the JOIN: members
// that come later are lost to the client. Reasons for a refusal are 403 (name), 405
// (too many), 471 (full), 473 (by invitation), 474 (banned), 475 (password), 476
// (mask). The first member is operator, except in title and group rooms: these belong to the
// service. Their modes are +nt and do not change, and their operators are the players that
// the operator of the service made moderators. They stay when their last member leaves, but
// their bans, topic and keys do not.
//
// Only members can send to a channel, others are answered with 404, whatever the mode n says:
// a player who was kicked must not be heard in the room. Games do not need more. Peer's
// library sends to a room only while it is in it, and shows players each message to a room
// that it is in, from whatever nick.
//
// A player does not hear its own PRIVMSG, NOTICE, UTM or ATM, but its own JOIN, PART,
// MODE, TOPIC, KICK and keys. UTM and ATM are messages between games; the service
// reads none of them.
//
// Of CTCP only ACTION is relayed, everything else is answered with 404. A PRIVMSG to a player
// that is AWAY is relayed and answered with 301. A KICK without a comment has the nick of its
// author in place of it, as in RFC 1459: the client shows it as the reason.
//
// # Modes
//
// Signs may stand between any letters, and the client sends all at once, as in
//
//	MODE #GSP!gmtest!MqNKN001KM -i+p-s-m+n+t+l+e 8
//
// i invitation only, p private, s secret, m moderated, n no messages from outside (as always),
// t topic by operators only, k password, l limit, e operators obey the limit; b ban,
// o operator, v voice. b, k, o and v have an argument, l has one when it is set, and
// b without one asks for the list (367, 368). A line changes at most 32. 324 lists
// those that are set, arguments in the order of letters. A ban is a mask
// nick!user@host of at most 128 bytes with * and ?. It is for a client under each nick that it
// had in its session, at most 9.
//
// A client sets +q on its own nick when it does not want to hear its channels, and
// -q when it does again: it is then sent the members of all of them, 353 and 366.
//
// # Keys
//
// A user, a member of a channel, and a channel have keys with values. Lists of them
// are texts in which a backslash stands before each key and each value, for which
// there is no escape. A line has at most 64.
//
//	kind     set                             ask                                           answer
//	user     SETKEY :\k\v                    GETKEY <nick or channel> <cookie> 0 :\k       700, 701
//	member   SETCKEY <channel> <nick> :\k\v  GETCKEY <channel> <nick or *> <cookie> 0 :\k  702, 703
//	channel  SETCHANKEY <channel> :\k\v      GETCHANKEY <channel> <cookie> 0 :\k           704
//
// The answer repeats the cookie and has only values, in the order of the request, an
// empty one for a key that is not set. The name b_* asks for names and values of all
// keys that begin with b_ besides; the text * alone, for those of all keys of the
// channel. For a channel there is an answer for each member, then the end (701,
// 703), without which the client waits.
//
// Keys that begin with b_ are sent to all members, the author too, when they are
// set, as a 702 or 704 with BCAST in place of the cookie. No other key may be in that
// text: the client ends its process over a text without one that begins with b_. The
// key username is always there: it is the name from USER.
//
// # Nodes
//
// In a cluster each node has all users and all channels in memory and answers questions
// of its clients without another node. A change of a channel is carried out by the node that its
// name hashes to, its owner. Other nodes send it the commands of their clients and wait until its
// changes are here; the answer to a JOIN is made here, where the member comes. So all members see
// one order, and bounds hold for the cluster. The node that a nick hashes to gives it to one client
// at a time, for a minute, until it is signed on with it.
//
// Users, channels and members are entries of one cluster.Map: users of their own nodes, channels
// and members of the owner of the channel. Notes between them say who made a change and carry
// messages (see event), so that a node that missed some shows the difference only.
//
// When nodes come or go, the new owner of a channel takes it: with the modes, topic and keys that
// have the most changes (channelState.rev), and the members that it knows and that their nodes
// claim (claim). The others follow it when it knows all of their changes, and until then have an
// entry of the channel themselves. Users of a node that is gone quit. After a cut two users may
// have one nick, or be one player: of different players the one that signed on first stays, of one
// player the newer session. Invitations that were not used are lost with their owner.
package peerchat
