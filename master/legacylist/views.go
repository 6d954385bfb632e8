package legacylist

import (
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/master/views"
)

// Bounds of the lists that are kept and of those that are being sent; see
// views.Options.
const (
	maxViews        = 256
	maxViewBytes    = 32 << 20
	maxSendingBytes = 128 << 20
)

// How long a list may be used after its game changed: twenty times as long as
// it took to build, so that a list never costs more than a twentieth of a
// processor, and never longer than maxHold.
const (
	maxHold   = 100 * time.Millisecond
	holdTimes = 20
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
type view struct {
	text   []byte // with the end mark
	rows   int
	serial uint64 // of the game's last change that it shows
	built  time.Time
	took   time.Duration
	views.Sending
}

// Size returns the memory of the view in bytes.
func (v *view) Size() int { return cap(v.text) }

// emptyView is the list of an unknown game. It is not counted.
var emptyView = &view{text: []byte(gamespy.Final)}

// list returns the bytes to send. bare leaves out the end mark, which clients
// of enctype 1 would take for a server; an empty list always has it.
func (v *view) list(bare bool) []byte {
	if bare && v.rows > 0 {
		return v.text[:len(v.text)-len(gamespy.Final)]
	}
	return v.text
}

func newViews(m *metrics) *views.Cache[viewKey, view, *view] {
	return views.New[viewKey, view, *view](views.Options{
		Views: maxViews, Bytes: maxViewBytes, SendingBytes: maxSendingBytes, Kept: m.views.Kept,
	})
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
		age := time.Since(v.built)
		if key.mode == Groups {
			return age < maxHold // no serial says when a room changes
		}
		return age < min(maxHold, holdTimes*v.took) || v.serial == s.opt.Registry.Serial(key.game)
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
			return buildServers(s.opt.Registry, key, f)
		})
	}
	if err != nil {
		return nil, err
	}
	v.built, v.took = start, time.Since(start)
	s.metrics.views.Built(v.took)
	return v, nil
}
