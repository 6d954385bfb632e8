package gpcm

import (
	"errors"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// service names the service in the book of verdicts.
const service = "gpcm"

// noteLogin notes how a sign-in ended.
func (x *session) noteLogin(r *request, err error) {
	var v verdicts.Verdict
	told, refused := errors.AsType[*refusal](err)
	switch {
	case x.signedIn:
		v = verdicts.SignedIn
	case refused && told.code == codeLogin:
		v = verdicts.ServiceFull
	case refused && told.code == codeParse:
		v = verdicts.Malformed
	default:
		var ok bool
		if v, ok = accounts.VerdictOn(err); !ok {
			return // a fault of ours, or the client has gone
		}
	}
	x.server.note(x.conn, r.text("gamename"), v)
}

// noteNewUser notes how a request for an account ended.
func (x *session) noteNewUser(r *request, err error) {
	v, refused := accounts.VerdictOn(err)
	switch {
	case err == nil:
		v = verdicts.AccountMade
	case !refused:
		return
	}
	x.server.note(x.conn, r.text("gamename"), v)
}

func (s *Server) note(c *netserve.Conn, game string, v verdicts.Verdict) {
	s.opt.Verdicts.NoteVisit(service, c.Peer().Addr(), game, v)
}
