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
	Empty // this and those below are of masters without a Keeper
	Short
	CDKey
	Ours
	Unlisted
	NoSecret
	Blocked
	NotAllowed
	Outdated
	TooManyPending
	NeverAsked
	Goodbye
	FilterTooBig
	TooSoon
	Silenced
	OldListOff
	WrongVersion
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	Oversized: "oversized", Foreign: "foreign", UnknownKind: "unknown_kind", Malformed: "malformed", MalformedRequest: "malformed_request",
	Banned: "banned", Limited: "limited", UnknownTag: "unknown_tag", UnknownGame: "unknown_game",
	PendingFull: "pending_full", Unexpected: "unexpected", Wrong: "wrong_response",
	Elsewhere: "listed_elsewhere", TooMany: "too_many_here", Full: "list_full", NoBudget: "no_budget",
	Unproved: "unproved", Busy: "busy",
	Empty: "empty", Short: "short", CDKey: "cdkey", Ours: "master_packet", Unlisted: "unlisted", NoSecret: "no_secret",
	Blocked: "blocked", NotAllowed: "not_allowed", Outdated: "outdated", TooManyPending: "too_many_pending",
	NeverAsked: "never_asked", Goodbye: "goodbye", FilterTooBig: "filter_too_big", TooSoon: "too_soon", Silenced: "silenced",
	OldListOff: "old_list_off", WrongVersion: "wrong_version",
}

// DropNames returns the reasons of masters with a Keeper as the metrics show them.
func DropNames() []string { return dropNames[1:Empty] }

// NamesOf returns the reasons of another master as the metrics show them.
func NamesOf(list ...Drop) (names []string) {
	for _, d := range list {
		names = append(names, d.String())
	}
	return names
}

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
	case Blocked:
		return verdicts.Blocked, true
	case NotAllowed:
		return verdicts.NotAllowed, true
	case Outdated:
		return verdicts.Outdated, true
	case NeverAsked:
		return verdicts.NeverAsked, true
	default:
		return 0, false
	}
}
