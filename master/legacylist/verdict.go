package legacylist

import (
	"errors"
	"net/netip"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// name is that of the service in the log of verdicts.
const name = "legacylist"

// noteList notes the result of a list request. Faults of the connection are not
// noted.
func (x *session) noteList(game string, err error) {
	why, refused := errors.AsType[ended](err)
	switch {
	case err == nil:
		x.note(game, verdicts.ListSent)
	case !refused:
	case why == endedSecret:
		x.note(game, verdicts.NoSecret)
	case why == endedValidation:
		x.note(game, verdicts.WrongResponse)
	case why == endedFilter, why == endedExpensive:
		x.note(game, verdicts.BadFilter)
	case why == endedTooLong, why == endedEnctype:
		x.note(game, verdicts.MalformedRequest)
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
