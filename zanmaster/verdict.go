package zanmaster

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

func (s *Server) note(a netip.AddrPort, v verdicts.Verdict) {
	s.opt.Verdicts.Note(service, a, zandronum.Game, v)
}

// notes are verdicts that are noted when no lock is held any more: noting may
// log.
type notes []noted

type noted struct {
	addr    netip.AddrPort
	verdict verdicts.Verdict
}

func (n *notes) add(a netip.AddrPort, v verdicts.Verdict) { *n = append(*n, noted{a, v}) }

func (s *Server) noteAll(n notes) {
	for _, v := range n {
		s.note(v.addr, v.verdict)
	}
}
