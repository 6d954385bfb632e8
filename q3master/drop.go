package q3master

import (
	"github.com/respawnd/respawnd/internal/verdicts"
)

// drop is why a packet was dropped.
type drop uint8

const (
	notDropped drop = iota
	dropOversized
	dropForeign
	dropUnknown
	dropMalformed
	dropRequest
	dropBanned
	dropLimited
	dropTag
	dropGame
	dropPending
	dropUnexpected
	dropWrong
	dropElsewhere
	dropTooMany
	dropFull
	dropNoBudget
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	dropOversized: "oversized", dropForeign: "foreign", dropUnknown: "unknown_kind", dropMalformed: "malformed",
	dropRequest: "malformed_request",
	dropBanned:  "banned", dropLimited: "limited", dropTag: "unknown_tag", dropGame: "unknown_game",
	dropPending: "pending_full", dropUnexpected: "unexpected", dropWrong: "wrong_response",
	dropElsewhere: "listed_elsewhere", dropTooMany: "too_many_here", dropFull: "list_full", dropNoBudget: "no_budget",
}

// String returns the reason as the metrics show it, "" for notDropped.
func (d drop) String() string { return dropNames[d] }

// verdict returns the verdict on a server that was refused for a reason. ok is
// false for reasons without one: they say nothing about the server.
func (d drop) verdict() (v verdicts.Verdict, ok bool) {
	switch d {
	case dropBanned:
		return verdicts.Banned, true
	case dropLimited:
		return verdicts.Limited, true
	case dropTag, dropGame:
		return verdicts.UnknownGame, true
	case dropMalformed:
		return verdicts.Malformed, true
	case dropRequest:
		return verdicts.MalformedRequest, true
	case dropWrong:
		return verdicts.WrongResponse, true
	case dropTooMany:
		return verdicts.TooManyHere, true
	case dropFull:
		return verdicts.ListFull, true
	default:
		return 0, false
	}
}
