package utmaster

import "github.com/respawnd/respawnd/internal/drops"

// ended is why the master ends a connection, or drops something; its text is the label
// in metrics.
type ended = drops.Reason

var reasons drops.List

// The reasons.
var (
	endedBanned     = reasons.Add("banned")
	endedTooLong    = reasons.Add("too_long")
	endedMalformed  = reasons.Add("malformed")
	endedTimeout    = reasons.Add("request_timeout")
	endedGone       = reasons.Add("no_request")
	endedRole       = reasons.Add("unknown_role")
	endedGame       = reasons.Add("unknown_game")
	endedKey        = reasons.Add("key_banned")
	endedRequest    = reasons.Add("unknown_request")
	endedBusy       = reasons.Add("busy")
	endedSilent     = reasons.Add("silent")
	endedTooMany    = reasons.Add("too_many_here")
	endedFull       = reasons.Add("list_full")
	endedElsewhere  = reasons.Add("listed_elsewhere")
	endedReplaced   = reasons.Add("replaced")
	droppedMessage  = reasons.Add("unused_message") // a message of a game server that is not used
	droppedFilter   = reasons.Add("unknown_filter") // a filter that is not known
	droppedPacket   = reasons.Add("foreign")        // a datagram of another protocol
	droppedUnasked  = reasons.Add("unexpected")     // a datagram that no server was asked for
	droppedUnproved = reasons.Add("no_answer")      // a server none of whose ports answered
	droppedBurst    = reasons.Add("burst")          // a datagram beyond those that a server's connection waits for
)

// DropReasons lists the reasons, under which Options.Metrics counts.
func DropReasons() []string { return reasons }
