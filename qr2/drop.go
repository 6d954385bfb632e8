package qr2

// drop is why a packet was dropped.
type drop uint8

const (
	notDropped drop = iota
	dropEmpty
	dropOversized
	dropShort
	dropForeign
	dropCDKey
	dropOurs
	dropUnknownKind
	dropUnlisted
	dropMalformed
	dropLimited
	dropBanned
	dropUnknownGame
	dropNoSecret
	dropWrong
	dropUnexpected
	dropPending
	dropFull
	dropNoBudget
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	dropEmpty: "empty", dropOversized: "oversized", dropShort: "short", dropForeign: "foreign",
	dropCDKey: "cdkey", dropOurs: "master_packet", dropUnknownKind: "unknown_kind", dropUnlisted: "unlisted",
	dropMalformed: "malformed", dropLimited: "limited", dropBanned: "banned", dropUnknownGame: "unknown_game",
	dropNoSecret: "no_secret", dropWrong: "wrong_response", dropUnexpected: "unexpected", dropPending: "too_many_pending",
	dropFull: "list_full", dropNoBudget: "no_budget",
}

// String returns the reason as the metrics show it, "" for notDropped.
func (d drop) String() string { return dropNames[d] }
