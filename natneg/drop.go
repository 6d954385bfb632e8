package natneg

import (
	"github.com/respawnd/respawnd/internal/drops"
	"github.com/respawnd/respawnd/internal/verdicts"
)

type drop = drops.Reason

var notDropped drop

var reasons drops.List

// The reasons. A packet that cannot be read has a verdict: the negotiation that it is part of
// would only look as if the player never came.
var (
	dropShort        = reasons.Judge("short", verdicts.MalformedRequest)
	dropForeign      = reasons.Judge("foreign", verdicts.NotUnderstood)
	dropVersion      = reasons.Judge("version", verdicts.MalformedRequest)
	dropSource       = reasons.Add("source")
	dropBanned       = reasons.Add("banned")
	dropLimited      = reasons.Add("limited")
	dropUnused       = reasons.Add("unused_type")
	dropOurs         = reasons.Add("server_packet")
	dropUnknownType  = reasons.Judge("unknown_type", verdicts.MalformedRequest)
	dropMalformed    = reasons.Judge("malformed", verdicts.MalformedRequest)
	dropIndex        = reasons.Judge("index", verdicts.MalformedRequest)
	dropUnexpected   = reasons.Add("unexpected")
	dropOtherAddress = reasons.Add("other_address")
	dropItself       = reasons.Add("own_partner")
	dropCookieFull   = reasons.Add("cookie_full")
	dropTooMany      = reasons.Add("too_many_here")
	dropUntestable   = reasons.Add("untestable")
	dropNotForwarded = reasons.Add("not_forwarded")
)
