// Package fesl is the sign-in of games of Electronic Arts from 2005 to 2010: Battlefield
// 2142, Command & Conquer 3, Red Alert 3, The Battle for Middle-earth II and their kin. A
// player signs in to an account here, chooses one of its profiles, and gets a ticket with
// which the game signs in to GameSpy's services.
//
// Presence, chat and server lists of these games are those of other packages, and games that have
// EA's own list find it in package theater, which package lobby tells of the players. The rules
// for names and passwords are in internal/accounts, the wire format is in package wire, and statistics are
// kept by internal/stats. The package itself stores nothing.
//
// # Connection
//
// Each game has a port of its own built in; all answer the same, because a client names its
// game. The first byte says how it speaks: a letter is plain text, 16 in hex a handshake, for
// which the operator must have set a certificate: of SSL 3.0, if that is on and the client
// names no newer version, else of TLS. 80 in hex is a hello in the form of SSL 2, which is for SSL 3.0 alone:
// without that it is refused with an alert.
//
//	client  fsys Hello
//	server  fsys Hello, fsys MemCheck
//	client  acct Login or NuLogin        name and password, or encryptedInfo
//	client  acct GetSubAccounts or NuGetPersonas
//	client  acct LoginSubAccount or NuLoginPersona
//	client  acct GameSpyPreAuth
//	server  challenge and ticket
//
// The ticket is an auth token of internal/accounts: valid for ten minutes and one sign-in.
// The connection stays open for the whole session. The server asks for signs of life with
// MemCheck and Ping, number 0, which the client answers with a reply of number 0.
//
// # Accounts
//
// There are two families of names for the same requests; games use one of them. An account
// has one name and password for all games. It is found by e-mail address, or by the unique
// nick of one of its profiles. A persona is a profile. Its name is its unique nick in the namespace of
// the game; a profile that has none there keeps its name when a game chooses it, if that is
// free.
//
// # Requests
//
// The table in command.go has the stage that each request needs. A request before its stage
// is answered with error 20, one before Hello ends the connection, and an unknown one is
// answered with its own name alone, which games take for an empty answer.
//
// An error is a normal answer:
//
//	errorContainer.[]=0  errorCode=122  localizedMessage="The password is not correct."
//
// # Ends
//
// A ban, another password, a deletion and a second session of the same profile end a session
// with the message Goodbye. In a cluster, only a second session on the same node ends the
// first; the presence service, which games sign in to next, knows those of all nodes.
package fesl
