package gpcm

import (
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

const name = "gpcm"

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
		v = verdicts.MalformedRequest
	default:
		var ok bool
		if v, ok = accounts.VerdictOn(err); !ok {
			return // a fault of the server, or the client has gone
		}
	}
	x.server.opt.Verdicts.NoteDetail(name, x.conn.Peer().Addr(), r.text("gamename"), v, accounts.DetailOf(err))
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

// refused notes that a connection is refused and returns the error for its
// client, which would otherwise wait for ever.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	text := s.opt.Verdicts.NoteRefused(name, peer.Addr(), why)
	s.metrics.refused(codeLogin)
	return appendError(nil, &refusal{code: codeLogin, text: text}, loginRequest())
}

func (s *Server) note(c *netserve.Conn, game string, v verdicts.Verdict) {
	s.opt.Verdicts.NotePlayer(name, c.Peer().Addr(), game, v)
}
