package utmaster

// ended is why the master ends a connection, or drops something; its text is the label
// in metrics.
type ended uint8

// The reasons.
const (
	endedBanned ended = iota + 1
	endedTooLong
	endedMalformed
	endedTimeout
	endedGone
	endedRole
	endedGame
	endedKey
	endedRequest
	endedBusy
	endedSilent
	endedTooMany
	endedFull
	endedElsewhere
	endedReplaced
	droppedMessage  // a message of a game server that is not used
	droppedFilter   // a filter that is not known
	droppedPacket   // a datagram of another protocol
	droppedUnasked  // a datagram that no server was asked for
	droppedUnproved // a server none of whose ports answered
	droppedBurst    // a datagram beyond those that a server's connection waits for
)

var endings = [...]string{
	endedBanned: "banned", endedTooLong: "too_long", endedMalformed: "malformed", endedTimeout: "request_timeout",
	endedGone: "no_request", endedRole: "unknown_role", endedGame: "unknown_game", endedKey: "key_banned",
	endedRequest: "unknown_request", endedBusy: "busy", endedSilent: "silent", endedTooMany: "too_many_here",
	endedFull: "list_full", endedElsewhere: "listed_elsewhere", endedReplaced: "replaced",
	droppedMessage: "unused_message", droppedFilter: "unknown_filter", droppedPacket: "foreign",
	droppedUnasked: "unexpected", droppedUnproved: "no_answer", droppedBurst: "burst",
}

// Error implements error.
func (e ended) Error() string { return endings[e] }

// DropReasons lists the reasons, under which Options.Metrics counts.
func DropReasons() []string { return endings[1:] }
