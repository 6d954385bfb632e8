package valvemaster

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
	dropLimited
	dropWrong
	dropTooMany
	dropFull
	dropRefused
	dropGoodbye
	dropFilter
	dropNoBudget
	dropBusy
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	dropEmpty: "empty", dropOversized: "oversized", dropForeign: "foreign", dropUnknown: "unknown_kind",
	dropMalformed: "malformed", dropBanned: "banned", dropLimited: "limited", dropWrong: "wrong_response",
	dropTooMany: "too_many_here", dropFull: "list_full", dropRefused: "never_asked", dropGoodbye: "goodbye",
	dropFilter: "filter_too_big", dropNoBudget: "no_budget", dropBusy: "busy",
}

// String returns the reason as the metrics show it, "" for notDropped.
func (d drop) String() string { return dropNames[d] }
