package gpsp

import (
	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// service names the service in the book of verdicts.
const service = "gpsp"

// noteRefusal notes why a request about an account was refused. Other errors are
// faults of ours.
func (s *Server) noteRefusal(r *request, err error) {
	if v, ok := accounts.VerdictOn(err); ok {
		s.opt.Verdicts.NoteVisit(service, r.from, r.get("gamename"), v)
	}
}

// noteAccount notes how a request for an account ended.
func (s *Server) noteAccount(r *request, err error) {
	if err == nil {
		s.opt.Verdicts.NoteVisit(service, r.from, r.get("gamename"), verdicts.AccountMade)
		return
	}
	s.noteRefusal(r, err)
}
