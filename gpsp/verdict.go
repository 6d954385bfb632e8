package gpsp

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

const name = "gpsp"

// noteRefusal notes why a request about an account was refused. Other errors are
// faults of ours.
func (s *Server) noteRefusal(r *request, err error) {
	if v, ok := accounts.VerdictOn(err); ok {
		s.opt.Verdicts.NotePlayer(name, r.from, r.get("gamename"), v)
	}
}

// noteAccount notes how a request for an account ended.
func (s *Server) noteAccount(r *request, err error) {
	if err == nil {
		s.opt.Verdicts.NotePlayer(name, r.from, r.get("gamename"), verdicts.AccountMade)
		return
	}
	s.noteRefusal(r, err)
}

// refused notes that a connection is refused and returns the error for its
// client, which would otherwise wait for a minute.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	text := "the server is full, try again later"
	if why == netserve.RefusedStopping {
		text = "the server is stopping, try again later"
	}
	if why.OfAddress() {
		text = "too many connections from your address, try again in a moment"
		s.opt.Verdicts.NotePlayer(name, peer.Addr(), "", verdicts.Limited)
	}
	var w reply
	w.failure(codeSearch, text)
	return w.end()
}
