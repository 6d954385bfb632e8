package natneg

import "github.com/respawnd/respawnd/internal/drops"

// drop is why a packet was dropped.
type drop = drops.Reason

const notDropped drop = ""

var reasons drops.List

// The reasons.
var (
	dropShort        = reasons.Add("short")
	dropForeign      = reasons.Add("foreign")
	dropVersion      = reasons.Add("version")
	dropSource       = reasons.Add("source")
	dropBanned       = reasons.Add("banned")
	dropLimited      = reasons.Add("limited")
	dropUnused       = reasons.Add("unused_type")
	dropOurs         = reasons.Add("server_packet")
	dropUnknownType  = reasons.Add("unknown_type")
	dropMalformed    = reasons.Add("malformed")
	dropIndex        = reasons.Add("index")
	dropUnexpected   = reasons.Add("unexpected")
	dropOtherAddress = reasons.Add("other_address")
	dropItself       = reasons.Add("own_partner")
	dropCookieFull   = reasons.Add("cookie_full")
	dropTooMany      = reasons.Add("too_many_here")
	dropUntestable   = reasons.Add("untestable")
	dropNotForwarded = reasons.Add("not_forwarded")
)
