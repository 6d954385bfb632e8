package uplink

import (
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Drop is the reason for which a packet was dropped.
type Drop uint8

// The reasons.
const (
	NotDropped Drop = iota
	Oversized
	Foreign
	UnknownKind
	Malformed
	MalformedRequest
	Banned
	Limited
	UnknownTag
	UnknownGame
	PendingFull
	Unexpected
	Wrong
	Elsewhere
	TooMany
	Full
	NoBudget
	Unproved
	Busy
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	Oversized: "oversized", Foreign: "foreign", UnknownKind: "unknown_kind", Malformed: "malformed", MalformedRequest: "malformed_request",
	Banned: "banned", Limited: "limited", UnknownTag: "unknown_tag", UnknownGame: "unknown_game",
	PendingFull: "pending_full", Unexpected: "unexpected", Wrong: "wrong_response",
	Elsewhere: "listed_elsewhere", TooMany: "too_many_here", Full: "list_full", NoBudget: "no_budget",
	Unproved: "unproved", Busy: "busy",
}

// DropNames returns all reasons as the metrics show them.
func DropNames() []string { return dropNames[1:] }

// String returns the reason as the metrics show it, "" for NotDropped.
func (d Drop) String() string { return dropNames[d] }

// Verdict returns the verdict on a server that was refused for a reason. ok is
// false for reasons without one: they say nothing about the server.
func (d Drop) Verdict() (v verdicts.Verdict, ok bool) {
	switch d {
	case Banned:
		return verdicts.Banned, true
	case Limited:
		return verdicts.Limited, true
	case UnknownTag, UnknownGame:
		return verdicts.UnknownGame, true
	case Malformed:
		return verdicts.Malformed, true
	case MalformedRequest:
		return verdicts.MalformedRequest, true
	case Wrong:
		return verdicts.WrongResponse, true
	case TooMany:
		return verdicts.TooManyHere, true
	case Full:
		return verdicts.ListFull, true
	default:
		return 0, false
	}
}
