package peerchat

import (
	"errors"

	"github.com/respawnd/respawnd/internal/drops"
)

// ended is the reason for which the service closes a connection, or drops data;
// its name is its label in metrics.
type ended = drops.Reason

var reasons drops.List

// The reasons.
var (
	endedBanned      = reasons.Add("banned")
	endedTooLong     = reasons.Add("too_long")
	endedCrypt       = reasons.Add("bad_crypt")    // CRYPT twice, late, or with parameters that make no sense
	endedUnknownGame = reasons.Add("unknown_game") // CRYPT for a game that is not in the catalogue
	endedTimeout     = reasons.Add("login_timeout")
	endedSilent      = reasons.Add("silent")
	endedFlood       = reasons.Add("flood")
	endedLogins      = reasons.Add("login_flood")
	endedSlow        = reasons.Add("queue_full")

	// After these the connection continues.
	droppedEmpty      = reasons.Add("no_command")
	droppedUnknown    = reasons.Add("unknown_command")
	droppedEarly      = reasons.Add("not_registered")
	droppedParams     = reasons.Add("too_few_parameters")
	droppedMuted      = reasons.Add("muted")
	droppedCTCP       = reasons.Add("ctcp")
	droppedNotAllowed = reasons.Add("not_allowed")   // the sender may not do that in that channel
	droppedKeys       = reasons.Add("too_many_keys") // too many, or too long
)

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

// DropReasons lists the names of the reasons, under which Options.Metrics counts.
func DropReasons() []string { return reasons }

// Why a connection ends without anything to count.
var (
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
)

// quit ends a connection with a reason that others read.
type quit struct{ reason string }

// Error implements error.
func (q quit) Error() string { return q.reason }
