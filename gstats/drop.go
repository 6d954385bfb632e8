package gstats

import (
	"errors"

	"github.com/respawnd/respawnd/internal/drops"
)

// ended is the reason for which the service closes a connection, or drops a request;
// its name is its label in metrics.
type ended = drops.Reason

var reasons drops.List

// The reasons.
var (
	endedBanned      = reasons.Add("banned")
	endedTooLong     = reasons.Add("too_long")
	endedMemory      = reasons.Add("memory")
	endedEarly       = reasons.Add("not_authenticated")
	endedUnknownGame = reasons.Add("unknown_game")
	endedNoSecret    = reasons.Add("no_secret")
	endedResponse    = reasons.Add("wrong_response")
	endedTimeout     = reasons.Add("login_timeout")
	endedSilent      = reasons.Add("silent")
	endedUnfinished  = reasons.Add("unfinished")

	// After these the connection continues.
	droppedUnknown = reasons.Add("unknown_command")
	droppedValue   = reasons.Add("bad_value")
	droppedConnID  = reasons.Add("wrong_connid")
	droppedRate    = reasons.Add("too_many_reports")
	droppedCut     = reasons.Add("short_data")
)

// endedTexts are the texts for clients whose connection is closed.
var endedTexts = map[ended]string{
	endedBanned:      "You are banned.",
	endedTooLong:     "The message is too long.",
	endedMemory:      "The server is busy. Try again in a moment.",
	endedEarly:       "Authenticate first.",
	endedUnknownGame: "The game is not known here.",
	endedNoSecret:    "The secret key of the game is not known here.",
	endedResponse:    "The response is wrong.",
	endedTimeout:     "The game did not authenticate in time.",
	endedSilent:      "The connection was idle for too long.",
	endedUnfinished:  "The message did not arrive in time.",
}

// DropReasons lists the names of the reasons, under which Options.Metrics counts.
func DropReasons() []string { return reasons }

// Why a connection ends without anything to count.
var (
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
)
