package legacylist

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/gamespy"
)

// Bounds of the lists that are kept. What is over them is forgotten, the
// longest unused first; it costs a build when it is wanted again.
const (
	maxViews     = 256
	maxViewBytes = 32 << 20
	// maxSendingBytes bounds the lists that are being sent, kept or not: slow
	// readers keep old ones alive.
	maxSendingBytes = 128 << 20
	// refuseFor is how long a filter that was too expensive is not tried again.
	refuseFor = time.Second
)

// How long a list may be used after its game changed: twenty times as long as
// it took to build, so that a list never costs more than a twentieth of a
// processor, and never longer than maxHold.
const (
	maxHold   = 100 * time.Millisecond
	holdTimes = 20
)

// viewKey is what requests have in common that can share a list. The fields of
// a table follow from its mode.
type viewKey struct {
	game   string
	mode   Mode
	filter string // canonical text
}

// view is a list as it was at one moment. Its content never changes; any number
// of connections send from it at the same time.
type view struct {
	text    []byte // with the end mark
	rows    int
	serial  uint64 // of the game's last change that it shows
	built   time.Time
	took    time.Duration
	sending atomic.Int32 // how many connections it is being sent on
}

// emptyView is the list of a game that there is not. Nobody counts or changes
// it.
var emptyView = &view{text: []byte(gamespy.Final)}

// list returns the bytes to send. bare leaves out the end mark, which clients
// of enctype 1 would take for a server; an empty list has it all the same.
func (v *view) list(bare bool) []byte {
	if bare && v.rows > 0 {
		return v.text[:len(v.text)-len(gamespy.Final)]
	}
	return v.text
}

// slot is the place of one list.
type slot struct {
	mu      sync.Mutex // held while a list is built; guards refused
	refused time.Time  // when the filter was found too expensive
	current atomic.Pointer[view]

	used uint64 // guarded by views.mu: when it was asked for last
	size int    // guarded by views.mu: bytes of current
}

// views keeps lists for the requests that follow.
type views struct {
	metrics       *metrics
	max, maxBytes int
	// turns has a place for every build at a time: one processor is left to
	// those who take servers in.
	turns   chan struct{}
	sending atomic.Int64 // bytes of the lists that are being sent

	mu    sync.Mutex // guards the fields below
	slots map[viewKey]*slot
	uses  uint64
	bytes int
}

func newViews(m *metrics, most, mostBytes int) *views {
	return &views{
		metrics: m, max: most, maxBytes: mostBytes,
		turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)), slots: make(map[viewKey]*slot),
	}
}

// view returns the list that a request asks for.
func (s *Server) view(game games.Game, r *inquiry) (*view, error) {
	f, err := s.compile(r.filter, game.Name)
	if err != nil {
		return nil, err
	}
	key := viewKey{game.Name, r.mode, f.String()}
	fresh := func(v *view) bool {
		age := time.Since(v.built)
		if key.mode == Groups {
			return age < maxHold // nothing tells when somebody enters a room
		}
		return age < min(maxHold, holdTimes*v.took) || v.serial == s.opt.Registry.Serial(key.game)
	}
	return s.views.get(key, fresh, func() (*view, error) {
		if key.mode == Groups {
			return s.buildRooms(game, f)
		}
		return buildServers(s.opt.Registry, key, f)
	})
}

// get returns the list of a key, the one that is kept if it is fresh enough. One
// caller builds, the others wait for it.
func (v *views) get(key viewKey, fresh func(*view) bool, build func() (*view, error)) (*view, error) {
	at := v.slot(key)
	if now := at.current.Load(); now != nil && fresh(now) {
		return now, nil
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	if now := at.current.Load(); now != nil && fresh(now) {
		return now, nil
	}
	if !at.refused.IsZero() && time.Since(at.refused) < refuseFor {
		return nil, endedExpensive
	}
	v.turns <- struct{}{}
	defer func() { <-v.turns }()
	start := time.Now()
	built, err := build()
	if err != nil {
		at.refused = time.Now()
		return nil, err
	}
	built.built, built.took = start, time.Since(start)
	v.metrics.built(built)
	v.keep(key, at, built)
	return built, nil
}

// slot returns the place of a list, a new one if there is none yet.
func (v *views) slot(key viewKey) *slot {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.uses++
	at, ok := v.slots[key]
	if !ok {
		at = new(slot)
		v.slots[key] = at
	}
	at.used = v.uses
	v.evict()
	return at
}

// keep makes a list the slot's latest, unless the slot was forgotten meanwhile.
func (v *views) keep(key viewKey, at *slot, built *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.slots[key] != at {
		return
	}
	at.current.Store(built)
	v.bytes += len(built.text) - at.size
	at.size = len(built.text)
	v.evict()
}

// evict forgets slots until the bounds are kept, but never the one used last.
// v.mu is held.
func (v *views) evict() {
	for len(v.slots) > 1 && (len(v.slots) > v.max || v.bytes > v.maxBytes) {
		var oldest viewKey
		least := v.uses
		for key, at := range v.slots { // a few hundred
			if at.used < least {
				oldest, least = key, at.used
			}
		}
		if least == v.uses {
			break // only the one used last is left
		}
		v.bytes -= v.slots[oldest].size
		delete(v.slots, oldest)
	}
	v.metrics.kept(len(v.slots), v.bytes)
}

// begin notes that a list is about to be sent. It is refused while too many
// different ones are being sent; otherwise end must follow.
func (v *views) begin(w *view) error {
	if w.sending.Add(1) > 1 {
		return nil
	}
	if v.sending.Add(int64(len(w.text))) > maxSendingBytes {
		v.end(w)
		return endedBusy
	}
	return nil
}

func (v *views) end(w *view) {
	if w.sending.Add(-1) == 0 {
		v.sending.Add(-int64(len(w.text)))
	}
}
