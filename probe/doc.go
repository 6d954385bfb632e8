// Package probe asks listed servers for their status: all rules, players and
// teams, as they are now and not as the last report said. It is for pages and
// tools that show one server.
//
// [Query] is one question over a socket of the caller. A [Prober] is for many
// callers at once: it knows from the list in which protocol a server is asked
// (see package internal/query), asks each server at most once at a time, shares
// an answer among those who want it, and keeps it for a few seconds.
//
// A prober asks listed servers alone, which have proved that they want to be
// asked, and never an address of its own daemon, a group, everybody or port 0.
// The number of questions per second and of questions under way is bounded. Only
// the address that was asked is listened to, and an answer is bounded in packets
// and bytes.
//
// It does not decide who is listed (qr2 does), finds no servers (lan does), and
// writes nothing into the list.
package probe
