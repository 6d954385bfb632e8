package peerchat

import (
	"errors"

	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// ended is the reason for which the service closes a connection, or drops data;
// its name is its label in metrics.
type ended = drops.Reason

var reasons drops.List

var (
	endedBanned      = reasons.Judge("banned", verdicts.Banned, "You are banned")
	endedTooLong     = reasons.Judge("too_long", verdicts.MalformedRequest, "Line too long")
	endedCrypt       = reasons.Judge("bad_crypt", verdicts.MalformedRequest, "CRYPT is not possible now") // twice, late or senseless
	endedUnknownGame = reasons.Judge("unknown_game", verdicts.UnknownGame, "Unknown game")                // not in the catalogue
	endedTimeout     = reasons.Judge("login_timeout", verdicts.NeverSignedIn, "Registration timed out")
	endedSilent      = reasons.Add("silent", "Ping timeout")
	endedFlood       = reasons.Judge("flood", verdicts.Limited, "Excess flood")
	endedLogins      = reasons.Add("login_flood", "Too many failed logins")
	endedSlow        = reasons.Add("queue_full", "Too much is waiting for you")

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

// Why a connection ends without anything to count.
var (
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
)

// quit ends a connection with a reason that others read.
type quit struct{ reason string }

// Error implements error.
func (q quit) Error() string { return q.reason }
