package gstats

import "errors"

// ended is the reason for which the service closes a connection, or drops a request;
// its name is its label in metrics.
type ended uint8

// The reasons.
const (
	endedBanned ended = iota + 1
	endedTooLong
	endedMemory
	endedEarly
	endedUnknownGame
	endedNoSecret
	endedResponse
	endedTimeout
	endedSilent
	endedUnfinished

	// After these the connection continues.
	droppedUnknown
	droppedValue
	droppedConnID
	droppedRate
	droppedCut
)

var endedNames = [...]string{
	"",               // none
	endedBanned:      "banned",
	endedTooLong:     "too_long",
	endedMemory:      "memory",
	endedEarly:       "not_authenticated",
	endedUnknownGame: "unknown_game",
	endedNoSecret:    "no_secret",
	endedResponse:    "wrong_response",
	endedTimeout:     "login_timeout",
	endedSilent:      "silent",
	endedUnfinished:  "unfinished",
	droppedUnknown:   "unknown_command",
	droppedValue:     "bad_value",
	droppedConnID:    "wrong_connid",
	droppedRate:      "too_many_reports",
	droppedCut:       "short_data",
}

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

// Error implements error.
func (e ended) Error() string { return endedNames[e] }

// DropReasons lists the names of the reasons, under which Options.Metrics counts.
func DropReasons() []string { return endedNames[1:] }

// Why a connection ends without anything to count.
var (
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
)
