package api

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/master"
)

// findServer returns the listed server with an id. The address in the id may be
// the one that the asker got.
func (s *API) findServer(id string, asker advertise.Asker) (*master.Server, bool) {
	origin, public, ok := master.ParseID(id)
	if !ok {
		return nil, false
	}
	server, ok := asker.Find(s.lister.registry, public)
	return server, ok && server.Origin.Name == origin
}

// appendAddress writes the members of a server that are its address.
func appendAddress(b []byte, at netip.AddrPort) []byte {
	b = appendHostPort(b, at)
	b = append(b, `,"host":"`...)
	b = at.Addr().AppendTo(b)
	b = append(b, `","port":`...)
	return strconv.AppendUint(b, uint64(at.Port()), 10)
}

// appendHostPort writes the member of a server that is its whole address.
func appendHostPort(b []byte, at netip.AddrPort) []byte {
	b = append(b, `"address":"`...)
	b = at.AppendTo(b)
	return append(b, '"')
}

// spot is where in the text of events a private address is written.
type spot struct {
	from, to int
	public   netip.AddrPort
	write    func([]byte, netip.AddrPort) []byte
}

// mark records the position of a written address if it depends on the asker.
func (b *batch) mark(from, to int, public netip.AddrPort, write func([]byte, netip.AddrPort) []byte) {
	if master.IsPrivate(public.Addr()) {
		b.spots = append(b.spots, spot{from, to, public, write})
	}
}

// appendGiven appends a part of the text with the addresses for an asker. spots
// are those from the part on; the ones after it are returned.
func (b *batch) appendGiven(dst []byte, from, to int, asker advertise.Asker, spots []spot) ([]byte, []spot) {
	for len(spots) > 0 && spots[0].from < to {
		p := spots[0]
		dst = append(dst, b.text[from:p.from]...)
		dst = p.write(dst, asker.Given(p.public))
		from, spots = p.to, spots[1:]
	}
	return append(dst, b.text[from:to]...), spots
}

// formFor returns the form of textFor. Streams with the same form share it.
func (b *batch) formFor(game string, sharing []string, asker advertise.Asker) *form {
	if len(b.spots) == 0 {
		asker = advertise.Asker{}
	}
	return b.forms.get(asked{game, asker}, func() []byte { return b.textFor(game, sharing, asker) })
}

// textFor returns the events of the list of a game (of all, if it is empty), which
// shares it with others, with the addresses that an asker is given.
func (b *batch) textFor(game string, sharing []string, asker advertise.Asker) (text []byte) {
	if game == "" && len(b.spots) == 0 {
		return b.text
	}
	start, spots := 0, b.spots
	for _, e := range b.events {
		if e.game == game || e.game == "" || game == "" || slices.Contains(sharing, e.game) {
			text, spots = b.appendGiven(text, start, e.end, asker, spots)
		} else {
			for len(spots) > 0 && spots[0].from < e.end {
				spots = spots[1:]
			}
		}
		start = e.end
	}
	return text
}
