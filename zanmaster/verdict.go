package zanmaster

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

func (s *Server) note(a netip.AddrPort, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, zandronum.Game, v)
}

// notes are verdicts to note after all locks are released.
type notes []verdicts.Noted

func (n *notes) add(a netip.AddrPort, v verdicts.Verdict) {
	*n = append(*n, verdicts.Noted{Addr: a, Verdict: v})
}

func (s *Server) noteAll(n notes) { s.opt.Verdicts.NoteAll(serviceName, zandronum.Game, n) }
