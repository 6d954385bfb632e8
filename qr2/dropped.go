package qr2

import (
	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// explain notes why a packet was dropped if no verdict was noted on it: the operator
// would look for it on the way. The verdict on a listed server stays, since the
// packet may be forged.
func (s *Server) explain(p netserve.Packet, reason string) {
	switch reason {
	case dropOversized, dropForeign, dropShort, dropUnknownKind, dropCDKey, dropOurs, dropMalformed, dropUnexpected, dropUnlisted:
	default:
		return
	}
	if _, listed := s.list.At(p.From); listed {
		return
	}
	switch {
	case reason == dropOversized:
		s.foreign.Note(p.From, verdicts.TooLong)
	case s.foreign.Foreign(p.From, p.Data, foreign.QR2, foreign.QR1):
	case reason == dropUnlisted && Kind(p.Data[0]) == KindKeepalive:
		s.foreign.Note(p.From, verdicts.KeepaliveAlone)
	case reason == dropUnlisted && Kind(p.Data[0]) == KindHeartbeat:
		s.foreign.Note(p.From, verdicts.Left)
	case reason == dropForeign, reason == dropShort, reason == dropUnknownKind, reason == dropOurs:
		s.foreign.Note(p.From, verdicts.NotUnderstood)
	}
}
