package zanmaster

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/foreign"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

func (s *Server) note(a netip.AddrPort, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, zandronum.Game, v)
}

// explain notes why a packet was dropped if no verdict was noted on it: the operator
// would look for it on the way. The verdict on a listed server stays, since the
// packet may be forged. A packet that decodes to nothing may be a
// launcher's, so it gets a verdict only if it is recognised.
func (s *Server) explain(p netserve.Packet, reason string) {
	switch reason {
	case dropOversized, dropEmpty, dropUnknown, dropMalformed:
	default:
		return
	}
	if _, listed := s.list.At(p.From); listed || len(p.Data) == 0 {
		return
	}
	switch {
	case reason == dropOversized:
		s.foreign.Note(p.From, verdicts.TooLong)
	case s.foreign.Foreign(p.From, p.Data, foreign.Zandronum):
	case reason == dropUnknown:
		s.foreign.Note(p.From, verdicts.NotUnderstood)
	}
}

// notes are verdicts that are noted when no lock is held any more.
type notes []verdicts.Noted

func (n *notes) add(a netip.AddrPort, v verdicts.Verdict) {
	*n = append(*n, verdicts.Noted{Addr: a, Verdict: v})
}

func (s *Server) noteAll(n notes) { s.opt.Verdicts.NoteAll(serviceName, zandronum.Game, n) }
