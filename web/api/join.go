package api

import (
	"net/netip"

	"github.com/respawnd/respawnd/internal/games"
)

// joinForm holds the parts before and behind the address in the links with which players
// who have a game join its servers. The zero joinForm: there are none.
type joinForm struct{ head, tail string }

func joinOf(catalog *games.Catalog, game string) (f joinForm) {
	if g, ok := catalog.Lookup(game); ok {
		f.head, f.tail, _ = g.JoinParts()
	}
	return f
}

func (rd *reader) join(game string) joinForm {
	f, ok := rd.joins[game]
	if !ok {
		f = joinOf(rd.lister.catalog, game)
		rd.joins[game] = f
	}
	return f
}

// isGamePort reports whether players join a server on the port on which it answers
// queries in a protocol.
func isGamePort(protocol string) bool {
	return protocol == "zandronum" || protocol == "a2s" || protocol == "quake3"
}

// AppendJoin appends the link with which a player who has the game joins the server at
// the given address. It appends nothing if the game has no such links, the port for
// players is not known, or the server requires a password.
func (r *reading) AppendJoin(b []byte, given netip.AddrPort) []byte {
	if !r.joins(given) {
		return b
	}
	if r.GamePort != 0 {
		given = netip.AddrPortFrom(given.Addr(), r.GamePort)
	}
	b = append(b, r.join.head...)
	b = given.AppendTo(b)
	return append(b, r.join.tail...)
}

// joins reports whether the server has a link at an address.
func (r *reading) joins(given netip.AddrPort) bool { return r.join.head != "" && given.Addr().Is4() }

// appendAddress writes the members of the server that depend on its address.
func (r *reading) appendAddress(b []byte, at netip.AddrPort) []byte {
	b = appendAddress(b, at)
	if r.joins(at) {
		b = append(r.AppendJoin(append(b, `,"join":"`...), at), '"')
	}
	return b
}
