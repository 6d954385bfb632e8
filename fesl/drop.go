package fesl

import (
	"errors"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// ended is the reason for which the service closes a connection, or drops a message; its
// name is its label in metrics.
type ended uint8

// The reasons.
const (
	endedBanned ended = iota + 1
	endedForeign
	endedTLS
	endedOldHello // in the form of SSL 2, without SSL 3.0
	endedTooLong
	endedMalformed
	endedEarly
	endedTimeout
	endedSilent

	// After these the connection continues.
	droppedUnknown
	droppedRegistration
	droppedStats // of another player, or its records
	droppedMessage
)

var endedNames = [...]string{
	"",                  // none
	endedBanned:         "banned",
	endedForeign:        "not_fesl",
	endedTLS:            "tls",
	endedOldHello:       "ssl2_hello",
	endedTooLong:        "too_long",
	endedMalformed:      "malformed",
	endedEarly:          "no_hello",
	endedTimeout:        "timeout",
	endedSilent:         "silent",
	droppedUnknown:      "unknown_request",
	droppedRegistration: "too_many_registrations",
	droppedStats:        "stats_of_others",
	droppedMessage:      "message",
}

// Error implements error.
func (e ended) Error() string { return endedNames[e] }

// DropReasons lists the names of the reasons, under which Options.Metrics counts.
func DropReasons() []string { return endedNames[1:] }

// endVerdicts are the verdicts on connections that are closed.
var endVerdicts = map[ended]verdicts.Verdict{
	endedBanned: verdicts.Banned, endedTimeout: verdicts.NeverSignedIn, endedForeign: verdicts.MalformedRequest,
	endedTooLong: verdicts.MalformedRequest, endedMalformed: verdicts.MalformedRequest, endedEarly: verdicts.MalformedRequest,
}

// Why a connection ends without anything to count.
var (
	errGoodbye  = errors.New("the client said goodbye")
	errShutdown = errors.New("the service stops")
	errGone     = errors.New("the client has gone")
)
