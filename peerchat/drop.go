package peerchat

import "errors"

// ended is the reason for which the service closes a connection, or drops data;
// its name is its label in metrics.
type ended uint8

// The reasons.
const (
	endedBanned ended = iota + 1
	endedTooLong
	endedCrypt       // CRYPT twice, late, or with parameters that make no sense
	endedUnknownGame // CRYPT for a game that is not in the catalogue
	endedTimeout
	endedSilent
	endedFlood
	endedLogins
	endedSlow

	// After these the connection continues.
	droppedEmpty
	droppedUnknown
	droppedEarly
	droppedParams
	droppedMuted
	droppedCTCP
	droppedNotAllowed // the sender may not do that in that channel
	droppedKeys       // too many, or too long
)

var endedNames = [...]string{
	"",                // none
	endedBanned:       "banned",
	endedTooLong:      "too_long",
	endedCrypt:        "bad_crypt",
	endedUnknownGame:  "unknown_game",
	endedTimeout:      "login_timeout",
	endedSilent:       "silent",
	endedFlood:        "flood",
	endedLogins:       "login_flood",
	endedSlow:         "queue_full",
	droppedEmpty:      "no_command",
	droppedUnknown:    "unknown_command",
	droppedEarly:      "not_registered",
	droppedParams:     "too_few_parameters",
	droppedMuted:      "muted",
	droppedCTCP:       "ctcp",
	droppedNotAllowed: "not_allowed",
	droppedKeys:       "too_many_keys",
}

// endedTexts are the texts for clients whose connection is closed.
var endedTexts = map[ended]string{
	endedBanned:      "You are banned",
	endedTooLong:     "Line too long",
	endedCrypt:       "CRYPT is not possible now",
	endedUnknownGame: "Unknown game",
	endedTimeout:     "Registration timed out",
	endedSilent:      "Ping timeout",
	endedFlood:       "Excess flood",
	endedLogins:      "Too many failed logins",
	endedSlow:        "Too much is waiting for you",
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

// quit ends a connection with a reason that others read.
type quit struct{ reason string }

// Error implements error.
func (q quit) Error() string { return q.reason }
