// Package peerchat is for now only the wire format of the chat service of TCP port
// 6667: lines, cipher, names, modes and keys.
package peerchat
