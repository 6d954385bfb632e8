// Package webhook reports events to other programs over HTTP: servers that come
// and go, servers that fill up and empty, bans. It connects to them; the event
// stream for programs that connect themselves is in package web/api.
//
// # Events
//
//	server.up     a server came into the list
//	server.down   it left, and did not come back within settle
//	players.high  it has Hook.High players or more
//	players.low   after that, it has Hook.Low players or fewer
//	ban.added     an address was banned, or its ban was changed
//	ban.removed   a ban was lifted, or has expired
//	test          an operator tests the hook
//
// Bans are those of the store; the ban files of a Zandronum master are not watched.
// Servers that are listed when the daemon starts, or when a hook is added, are not
// reported.
//
// In a cluster, every node knows all servers and bans, and one node sends each event:
// the node that a server reports to, or any other once that one is gone; for bans the
// node that the address belongs to, see cluster.Bus.Owner; for rooms the node that
// serves them. A server that reports to another node than before neither goes nor comes.
// All nodes need the same hooks.
//
// # Formats
//
// A request is a POST with up to maxEvents events. In format json its body is
//
//	{"id": "...", "time": "...", "hook": "...", "events": [
//	  {"type": "server.up", "time": "...", "server": {"id": "qr2-192.0.2.1-6500", ...}},
//	  {"type": "ban.added", "time": "...", "ban": {"prefix": "192.0.2.0/24", ...}}]}
//
// with the members of Server and Ban. The id is the same in each attempt to
// deliver it. The receiver verifies the sender:
//
//	X-Respawnd-Timestamp: 1767225600
//	X-Respawnd-Signature: sha256=<hex HMAC-SHA256 of timestamp "." body>
//
// with the secret of the hook as the key, and rejects requests older than a few
// minutes. Any status of 2xx means success.
//
// In format discord the body is a message of one line per event, as Discord and
// compatible receivers accept it. Names cannot mention users or format text.
//
// # Delivery
//
// Each hook has a bounded queue and one request at a time. Network errors, 429 and
// 5xx are tried again with growing pauses; after any other error, and after
// maxAttempts attempts, the events are dropped. Dropped events, also those for which
// the queue is full, are counted and logged. Nothing survives a restart.
//
// Connections go to public addresses only, unless Hook.Allow names others. The
// dialled address is checked, after the resolution of the name. Redirects are
// not followed and no proxy is used.
package webhook
