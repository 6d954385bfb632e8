package zanmaster

// drop is why a packet was dropped.
type drop uint8

const (
	notDropped drop = iota
	dropEmpty
	dropOversized
	dropForeign
	dropUnknown
	dropMalformed
	dropBanned
	dropBlocked
	dropNotAllowed
	dropOutdated
	dropLimited
	dropTooMany
	dropPending
	dropFull
	dropNoBudget
	dropWrong
	dropUnexpected
	dropTooSoon
	dropSilenced
	dropOldList
	dropVersion
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	dropEmpty: "empty", dropOversized: "oversized", dropForeign: "foreign", dropUnknown: "unknown_kind",
	dropMalformed: "malformed", dropBanned: "banned", dropBlocked: "blocked", dropNotAllowed: "not_allowed",
	dropOutdated: "outdated", dropLimited: "limited", dropTooMany: "too_many_here", dropPending: "too_many_pending",
	dropFull: "list_full", dropNoBudget: "no_budget", dropWrong: "wrong_response", dropUnexpected: "unexpected",
	dropTooSoon: "too_soon", dropSilenced: "silenced", dropOldList: "old_list_off", dropVersion: "wrong_version",
}

// String returns the reason as the metrics show it, "" for notDropped.
func (d drop) String() string { return dropNames[d] }
