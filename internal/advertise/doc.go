// Package advertise answers which address of a game server an asker is given.
//
// A server with a public address is given as it is. One whose address is
// loopback or private is reached in another way from each place: on this machine
// as it is, from its own network under its private address, from everywhere else
// only under an address that the operator names. Every service that tells
// addresses asks here, so that all of them tell the same.
//
// The package knows no protocol, opens no socket and does not ask the system for
// the networks of this machine: the daemon says what they are.
package advertise
