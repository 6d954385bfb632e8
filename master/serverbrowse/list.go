package serverbrowse

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

// refusal is the reason for refusing a list: the text for the client and the
// label in metrics.
type refusal struct{ text, result string }

// Error implements error.
func (r *refusal) Error() string { return r.text }

// list answers a list request. The first one of a connection sets up the cipher
// with the secret of the asking game; later ones continue with it.
func (x *session) list(r *ListRequest) error {
	if !x.lists.Allow() {
		return endedRate
	}
	x.unsubscribe()
	queried, known := x.server.opt.Games.Lookup(r.For)
	var plain []byte
	var from games.Game // of the client; zero: after its first request
	if !x.ready {
		var ok bool
		from, ok = x.server.opt.Games.Lookup(r.From)
		switch {
		case !ok:
			return endedGame
		case from.Secret() == "":
			return endedSecret
		}
		// The flags determine how the browser queries the listed hosts.
		flags := from.BackendFlags
		if known {
			flags = queried.BackendFlags
		}
		plain = x.out.open(from.Secret(), r.Challenge, flags)
		x.ready = true
	}
	client := x.conn.Peer().Addr()
	x.asker = x.server.opt.Addresses.Browser(client, r.Source)
	if r.Has(AlternateIP) {
		client = r.Source
	}
	err := x.answer(r, plain, client, queried, known)
	x.noteList(r.For, err)
	if err == nil && plain != nil {
		x.watchReading(&from, r)
	}
	if no, ok := errors.AsType[*refusal](err); ok {
		x.server.metrics.list(no.result)
		x.port = errorPort
		return x.out.send(plain, appendError(nil, client, no.text))
	}
	return err
}

// answer sends the list, or nothing if it returns a *refusal.
func (x *session) answer(r *ListRequest, plain []byte, client netip.Addr, queried games.Game, known bool) error {
	if !known {
		return &refusal{"unknown game", listNoGame}
	}
	x.game, x.port = queried.Name, queried.QueryPort
	if x.port == 0 || x.port == errorPort {
		x.port = games.DefaultQueryPort
	}
	header := appendFixedHeader(nil, client, x.port)
	if r.Has(NoServerList) {
		x.server.metrics.list(listHeader)
		return x.out.send(plain, header)
	}
	a, err := x.server.asked(r, x.game, x.port)
	if err != nil {
		return err
	}
	if !a.key.rooms { // rooms have no addresses
		a.key.asker = x.asker
	}
	if r.Has(PushUpdates) && x.server.opt.Push && !r.Has(SendGroups) {
		return x.listAndPush(r, plain, header, a)
	}
	v, err := x.server.view(a)
	if err != nil {
		return refused(err)
	}
	return x.sendView(r, plain, header, v, nil)
}

// refused turns an error of a view into a refusal.
func refused(err error) error {
	switch {
	case errors.Is(err, errTooExpensive):
		return &refusal{err.Error(), listExpensive}
	case errors.Is(err, views.ErrBusy):
		return &refusal{err.Error(), listBusy}
	}
	return err
}

// sendView sends a list, cut to the client's limit of servers, and the data
// after it.
func (x *session) sendView(r *ListRequest, plain, header []byte, v *view, after []byte) error {
	if err := x.server.views.Begin(v); err != nil {
		return refused(err)
	}
	defer x.server.views.End(v)
	n := v.entries()
	if r.Has(LimitResults) && r.Max > 0 {
		n = int(min(uint64(n), uint64(r.Max)))
	}
	result := listSent
	if r.Has(SendGroups) {
		result = listRooms
	}
	x.server.metrics.list(result)
	x.server.metrics.views.Entries.Add(float64(n))
	return x.out.send(plain, header, v.cut(n), []byte(listEnd), after)
}

func (s *Server) asked(r *ListRequest, game string, port uint16) (*asked, error) {
	names, ok := fieldNames(r.Fields)
	if !ok {
		return nil, &refusal{"too many fields", listBadFields}
	}
	rooms := r.Has(SendGroups)
	if rooms && len(names) == 0 {
		names = roomFields[:]
	}
	f, err := s.compile(r.Filter, game)
	if err != nil {
		return nil, err
	}
	key := viewKey{
		game:   game,
		port:   port,
		filter: f.String(),
		fields: strings.Join(names, `\`),
		all:    !rooms && r.Has(FieldsForAll),
		rooms:  rooms,
	}
	return &asked{key, names, f}, nil
}

// compile compiles a filter. An invalid one is ignored or refused, depending on
// the options; one that is too long is always refused.
func (s *Server) compile(text, game string) (*filter.Filter, error) {
	if len(text) > s.opt.MaxFilter {
		return nil, &refusal{"filter too long", listBadFilter}
	}
	f, err := filter.Compile(text)
	if err == nil {
		return f, nil
	}
	if !s.opt.LenientFilter {
		return nil, &refusal{err.Error(), listBadFilter}
	}
	s.metrics.views.Ignored.Inc()
	s.ignored.Ignored(s.opt.Log, game, text, err)
	return new(filter.Filter), nil
}
