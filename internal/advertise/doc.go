// Package advertise decides under which address a client gets a game server.
//
// A public address is given as it is. A server with a loopback or private
// address is reached in different ways: from this machine under that address,
// from its own network under its private address, from everywhere else only
// under an address that the operator configured. Every service that sends
// addresses uses this package, so that all send the same.
//
// The package knows no protocol, opens no socket and does not ask the system
// for the networks of this machine: the daemon passes them in.
package advertise
