package serverbrowse

import (
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// name is that of the service in the log of verdicts.
const name = "serverbrowse"

// noteList notes how a request for a list ended that was understood.
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

// noteEnd notes why the service closes the connection of a client that got no
// list.
func (x *session) noteEnd(why ended) {
	switch why {
	case endedGame:
		x.note("", verdicts.UnknownGame)
	case endedSecret:
		x.note("", verdicts.NoSecret)
	case endedFraming, endedBad, endedOrder:
		x.note("", verdicts.Malformed)
	case endedRate:
		x.note("", verdicts.Limited)
	case endedBanned:
		x.note("", verdicts.Banned)
	default: // the others say nothing of the client
	}
}

// refused notes that a connection is not served. There is nothing that its client
// would understand before it has asked.
func (s *Server) refused(peer netip.AddrPort, why netserve.Refusal) []byte {
	if why.OfAddress() {
		s.opt.Verdicts.NotePlayer(name, peer.Addr(), "", verdicts.Limited)
	}
	return nil
}

func (x *session) note(game string, v verdicts.Verdict) {
	x.server.opt.Verdicts.NotePlayer(name, x.conn.Peer().Addr(), game, v)
}
