package serverbrowse

import (
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

const name = "serverbrowse"

// noteList notes the result of a parsed list request.
func (x *session) noteList(game string, err error) {
	no, refused := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		x.note(game, verdicts.ListSent)
	case refused && no.result == listNoGame:
		x.note(game, verdicts.UnknownGame)
	case refused && no.result != listBusy:
		x.note(game, verdicts.BadFilter)
	}
}

// refused notes that a connection is refused. It sends nothing: the client
// would not understand a message before its request.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	if why.OfAddress() {
		s.opt.Verdicts.NotePlayer(name, peer.Addr(), "", verdicts.Limited)
	}
	return nil
}

func (x *session) note(game string, v verdicts.Verdict) {
	x.server.opt.Verdicts.NotePlayer(name, x.conn.Peer().Addr(), game, v)
}
