package zanmaster

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/internal/zandronum"
)

func (s *Server) note(a netip.AddrPort, v verdicts.Verdict) {
	s.opt.Verdicts.Note(serviceName, a, zandronum.Game, v)
}

// noteDrop notes the verdict for a reason, if it has one.
func (s *Server) noteDrop(a netip.AddrPort, reason uplink.Drop) {
	if v, ok := reason.Verdict(); ok {
		s.note(a, v)
	}
}

// notes are verdicts to note after all locks are released.
type notes []verdicts.Noted

func (n *notes) add(a netip.AddrPort, v verdicts.Verdict) {
	*n = append(*n, verdicts.Noted{Addr: a, Verdict: v})
}

// drop adds the verdict for a reason, if it has one.
func (n *notes) drop(a netip.AddrPort, reason uplink.Drop) {
	if v, ok := reason.Verdict(); ok {
		n.add(a, v)
	}
}

func (s *Server) noteAll(n notes) { s.opt.Verdicts.NoteAll(serviceName, zandronum.Game, n) }
