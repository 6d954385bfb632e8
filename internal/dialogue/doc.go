// Package dialogue records what one player's address and the services of a daemon say to each
// other, and plays the client's side of such a recording again.
//
// A recording is a file of lines of JSON: a [Header], then an [Event] a line, the last of which says
// why it ended. It is meant to be sent with a report of a mistake, so it holds no secret: what is one
// is known by the protocol alone, whose [Protocol] overwrites it before anything is kept. A service
// without such a function is recorded as lengths.
//
// The package opens no sockets of services and decides on nothing that a service does. It is not a
// capture of the network: ciphers are taken off, and packets that a relay passes on are not seen.
package dialogue
