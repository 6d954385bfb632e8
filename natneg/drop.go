package natneg

// drop is why a packet was dropped.
type drop uint8

const (
	notDropped drop = iota
	dropShort
	dropForeign
	dropVersion
	dropSource
	dropBanned
	dropLimited
	dropUnused
	dropOurs
	dropUnknownType
	dropMalformed
	dropIndex
	dropUnexpected
	dropOtherAddress
	dropItself
	dropCookieFull
	dropTooMany
	dropUntestable
	dropNotForwarded
)

// dropNames are the reasons as the metrics show them.
var dropNames = [...]string{
	dropShort: "short", dropForeign: "foreign", dropVersion: "version", dropSource: "source", dropBanned: "banned",
	dropLimited: "limited", dropUnused: "unused_type", dropOurs: "server_packet", dropUnknownType: "unknown_type",
	dropMalformed: "malformed", dropIndex: "index", dropUnexpected: "unexpected", dropOtherAddress: "other_address",
	dropItself: "own_partner", dropCookieFull: "cookie_full", dropTooMany: "too_many_here", dropUntestable: "untestable",
	dropNotForwarded: "not_forwarded",
}

// String returns the reason as the metrics show it, "" for notDropped.
func (d drop) String() string { return dropNames[d] }
