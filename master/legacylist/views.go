package legacylist

import (
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

// viewKey is equal for requests that can share a list. The fields of a table
// follow from its mode.
type viewKey struct {
	game   string
	mode   Mode
	filter string // canonical text
	asker  advertise.Asker
}

// view is a list at one moment. It is immutable; any number of connections send
// from it concurrently.
type view struct{ views.Text }

// emptyView is the list of an unknown game. It is not counted.
var emptyView = &view{views.Text{Bytes: []byte(gamespy.Final)}}

// list returns the bytes to send. bare leaves out the end mark, which clients
// of enctype 1 would take for a server; an empty list always has it.
func (v *view) list(bare bool) []byte {
	if bare && v.Rows > 0 {
		return v.Bytes[:len(v.Bytes)-len(gamespy.Final)]
	}
	return v.Bytes
}

// view returns the list for a request of an asker.
func (s *Server) view(game games.Game, r *inquiry, asker advertise.Asker) (*view, error) {
	f, err := s.compile(r.filter, game.Name)
	if err != nil {
		return nil, err
	}
	key := viewKey{game.Name, r.mode, f.String(), asker}
	if r.mode == Groups {
		key.asker = advertise.Asker{} // rooms have no addresses
	} else if !s.opt.Registry.Varies(game.Name) { // all askers get the same list
		key.asker = asker.Outside()
	}
	fresh := func(v *view) bool {
		if key.mode == Groups {
			return time.Since(v.Built) < views.MaxHold // no serial says when a room changes
		}
		return v.Held() || v.Serial == asker.In(s.opt.Registry).Serial(key.game)
	}
	return s.views.Get(key, fresh, func() (*view, error) { return s.build(key, game, f) })
}

func (s *Server) build(key viewKey, game games.Game, f *filter.Filter) (v *view, err error) {
	start := time.Now()
	if key.mode == Groups {
		v, err = s.buildRooms(game, f) // may wait for a store
	} else {
		v, err = s.views.InTurn(func() (*view, error) {
			start = time.Now() // waiting is not building
			return buildServers(key.asker.In(s.opt.Registry), key, f)
		})
	}
	if err != nil {
		return nil, err
	}
	v.Finish(start)
	s.metrics.views.Built(v.Took)
	return v, nil
}
