// Package snapshot writes the list into a folder that any web server can offer, so that the
// list outlives its daemon. Package federation reads such a folder: a mirror is a daemon that
// lists what is in it, and nothing else.
//
// # The folder
//
// The services put their answers into files (service.Running.Files):
//
//	servers.json              all servers as in /api/v1/servers?full=1
//	servers-HASH.json         the same, as it belongs to the index: mirrors read this one
//	json/GAME                 as 333networks has it
//	raw/GAME.txt              an address in each line
//	v1/servers/GAMEDIR        as Xash3D asks for it, and v1/gamedirs
//	packets/SERVICE/LIST      the datagrams of a list, each behind its length: 2 bytes, big endian
//	index.txt                 the signed index, which names the others
//
// Addresses are those that clients outside are given.
//
// # The index
//
// The first line of the index is
//
//	respawnd-list 1 SIGNATURE
//
// with an Ed25519 signature in base64 of everything behind the line. That is an object in JSON:
// when the list was made, the identity of the daemon, and the size and SHA-256 of each file.
// A file counts only if it is as the index says. A file is replaced at once, and the index last,
// which alone names the file that mirrors read: a daemon that is killed in between leaves the
// snapshot before.
//
// What the signature proves: that the holder of the key wrote the list at that time. An older
// list has an older time, so readers refuse what is older than what they have, and what is too old.
//
// The package lists no server and offers nothing to clients itself.
package snapshot
