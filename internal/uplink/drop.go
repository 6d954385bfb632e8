package uplink

import (
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// Drop is the reason for which a packet was dropped, with the verdict on a server that was
// refused for it.
type Drop = drops.Reason

// The labels of masters with a Keeper, and further ones.
var keepers, others drops.List

// NotDropped is the zero value of Drop.
var NotDropped Drop

// The reasons.
var (
	Oversized        = keepers.Add("oversized")
	Foreign          = keepers.Add("foreign")
	UnknownKind      = keepers.Add("unknown_kind")
	Malformed        = keepers.Judge("malformed", verdicts.Malformed)
	MalformedRequest = keepers.Judge("malformed_request", verdicts.MalformedRequest)
	Banned           = keepers.Judge("banned", verdicts.Banned)
	Limited          = keepers.Judge("limited", verdicts.Limited)
	UnknownTag       = keepers.Judge("unknown_tag", verdicts.UnknownGame)
	UnknownGame      = keepers.Judge("unknown_game", verdicts.UnknownGame)
	PendingFull      = keepers.Add("pending_full")
	Unexpected       = keepers.Add("unexpected")
	Wrong            = keepers.Judge("wrong_response", verdicts.WrongResponse)
	Elsewhere        = keepers.Add("listed_elsewhere")
	TooMany          = keepers.Judge("too_many_here", verdicts.TooManyHere)
	Full             = keepers.Judge("list_full", verdicts.ListFull)
	NoBudget         = keepers.Add("no_budget")
	Unproved         = keepers.Add("unproved")
	Busy             = keepers.Add("busy")

	// Those of masters without a Keeper.
	Empty          = others.Add("empty")
	Short          = others.Add("short")
	CDKey          = others.Add("cdkey")
	Ours           = others.Add("master_packet")
	Unlisted       = others.Add("unlisted")
	NoSecret       = others.Add("no_secret")
	Blocked        = others.Judge("blocked", verdicts.Blocked)
	NotAllowed     = others.Judge("not_allowed", verdicts.NotAllowed)
	Outdated       = others.Judge("outdated", verdicts.Outdated)
	TooManyPending = others.Add("too_many_pending")
	NeverAsked     = others.Judge("never_asked", verdicts.NeverAsked)
	Goodbye        = others.Add("goodbye")
	FilterTooBig   = others.Add("filter_too_big")
	TooSoon        = others.Add("too_soon")
	Silenced       = others.Add("silenced")
	OldListOff     = others.Add("old_list_off")
	WrongVersion   = others.Add("wrong_version")
)

// DropNames returns the reasons of masters with a Keeper as the metrics show them.
func DropNames() []string { return keepers }

// NamesOf returns the reasons of another master as the metrics show them.
func NamesOf(list ...Drop) (names []string) {
	for _, d := range list {
		names = append(names, d.Error())
	}
	return names
}
