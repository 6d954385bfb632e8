package serverbrowse

import (
	"time"

	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

// Bounds of the lists that are kept and of those that are being sent; see
// views.Options.
const (
	maxViews        = 512
	maxViewBytes    = 64 << 20
	maxSendingBytes = 256 << 20
)

// asked is the input from which a list is built.
type asked struct {
	key    viewKey
	names  []string
	filter *filter.Filter
}

func newViews(m *metrics) *views.Cache[viewKey, view, *view] {
	return views.New[viewKey, view, *view](views.Options{
		Views: maxViews, Bytes: maxViewBytes, SendingBytes: maxSendingBytes, Kept: m.views.Kept,
	})
}

// view returns the requested list, as fresh as view.hold requires.
func (s *Server) view(a *asked) (*view, error) {
	made := s.shared(a)
	return s.views.Get(made.key, func(v *view) bool { return s.usable(made, v) }, func() (*view, error) { return s.build(made) })
}

// shared returns a with the asker removed if all askers get the same list, else
// a.
func (s *Server) shared(a *asked) *asked {
	outside := a.key.asker.Outside()
	if a.key.asker == outside || s.opt.Registry.Varies(a.key.game) {
		return a
	}
	shared := *a
	shared.key.asker = outside
	return &shared
}

func (s *Server) usable(a *asked, v *view) bool {
	age := time.Since(v.built)
	if a.key.rooms {
		return age < maxHold // no serial says when a room changes
	}
	return age < v.hold() || v.serial == a.key.asker.In(s.opt.Registry).Serial(a.key.game)
}

// build makes a list: from the rooms, from a whole list or from the records.
func (s *Server) build(a *asked) (v *view, err error) {
	if a.key.rooms {
		if v, err = s.buildRooms(a); err == nil { // may wait for a store
			s.metrics.views.Built(v.took)
		}
		return v, err
	}
	all, err := s.whole(a)
	switch {
	case err != nil:
		return nil, err
	case all != nil:
		v, err = s.views.InTurn(func() (*view, error) {
			b := s.builders.get()
			defer s.builders.put(b)
			return b.picker.pick(all, a.filter)
		})
		if err == nil {
			s.metrics.views.Built(v.took)
		}
	default:
		v, err = s.buildView(a, func(*builder, *view) {})
	}
	if err == nil {
		s.repeats.note(a.key, v)
	}
	return v, err
}

// buildView makes a list from the records of the servers. more is called with it.
func (s *Server) buildView(a *asked, more func(*builder, *view)) (*view, error) {
	v, err := s.views.InTurn(func() (*view, error) {
		b := s.builders.get()
		defer s.builders.put(b)
		game, _ := s.opt.Games.Lookup(a.key.game)
		v, err := b.build(a.key.asker.In(s.opt.Registry), a.key, a.names, a.filter, game.Keys)
		if err == nil {
			more(b, v)
		}
		return v, err
	})
	if err == nil {
		s.metrics.views.Built(v.took)
	}
	return v, err
}
