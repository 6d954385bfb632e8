package serverbrowse

import (
	"container/list"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
)

// Bounds of the cache of views. What is over them is forgotten, the longest
// unused first; it costs a build when it is wanted again.
const (
	maxViews     = 512
	maxViewBytes = 64 << 20
	// maxSendingBytes bounds the views that are being sent, cached or not: slow
	// readers keep old ones alive.
	maxSendingBytes = 256 << 20
	// refuseFor is how long a filter that was too expensive is not tried again.
	refuseFor = time.Second
)

// errBusy is the refusal of a list while too many are being sent.
var errBusy = errors.New("server is busy")

// slot is the place of one view: what it is made from and the latest one.
type slot struct {
	key    viewKey
	names  []string
	filter *filter.Filter

	current atomic.Pointer[view]

	building sync.Mutex // held while a view is built; guards refused
	refused  time.Time  // when the filter was found too expensive

	elem *list.Element // guarded by views.mu; nil: not in the cache
	size int           // guarded by views.mu: bytes of current
}

// views is the cache of views.
type views struct {
	reg      *master.Registry
	rooms    func(*slot) (*view, error)
	builders builders
	metrics  *metrics
	max      int
	maxBytes int
	// turns has a place for every build at a time: one processor is left to
	// those who take servers in.
	turns chan struct{}

	sending atomic.Int64 // bytes of the views that are being sent

	mu     sync.Mutex // guards the fields below
	slots  map[viewKey]*slot
	recent list.List // of *slot, the one used last in front
	bytes  int
}

// slot returns the place of a view, a new one if there is none yet.
func (v *views) slot(key viewKey, names []string, f *filter.Filter) *slot {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := v.slots[key]; ok {
		v.recent.MoveToFront(s.elem)
		return s
	}
	s := &slot{key: key, names: names, filter: f}
	s.elem = v.recent.PushFront(s)
	v.slots[key] = s
	v.evict()
	return s
}

// evict forgets slots until the bounds are kept, but never the one in front.
func (v *views) evict() {
	for v.recent.Len() > 1 && (v.recent.Len() > v.max || v.bytes > v.maxBytes) {
		s, _ := v.recent.Remove(v.recent.Back()).(*slot)
		delete(v.slots, s.key)
		v.bytes -= s.size
		s.elem, s.size = nil, 0
		s.current.Store(nil)
	}
	v.metrics.setViews(v.recent.Len(), v.bytes)
}

// view returns a view of the slot that is as fresh as the rule for its age
// demands; see view.hold. One caller builds, the others wait for it.
func (v *views) view(s *slot) (*view, error) {
	if now := s.current.Load(); v.usable(s, now) {
		return now, nil
	}
	s.building.Lock()
	defer s.building.Unlock()
	if now := s.current.Load(); v.usable(s, now) {
		return now, nil
	}
	if !s.refused.IsZero() && time.Since(s.refused) < refuseFor {
		return nil, errTooExpensive
	}
	built, err := v.build(s)
	if err != nil {
		s.refused = time.Now()
		return nil, err
	}
	s.refused = time.Time{}
	v.metrics.built(built)
	v.keep(s, built)
	return built, nil
}

func (v *views) usable(s *slot, now *view) bool {
	if now == nil {
		return false
	}
	age := time.Since(now.built)
	if s.key.rooms {
		return age < maxHold // nothing tells when somebody enters a room
	}
	return age < now.hold() || now.serial == v.reg.Serial(s.key.game)
}

func (v *views) build(s *slot) (*view, error) {
	if s.key.rooms {
		return v.rooms(s)
	}
	v.turns <- struct{}{}
	defer func() { <-v.turns }()
	b := v.builders.get()
	defer v.builders.put(b)
	return b.build(v.reg, s.key, s.names, s.filter)
}

// keep makes a view the slot's latest, unless the slot was forgotten meanwhile.
func (v *views) keep(s *slot, built *view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.elem == nil {
		return
	}
	s.current.Store(built)
	size := len(built.clear) + 4*len(built.ends)
	v.bytes += size - s.size
	s.size = size
	v.evict()
}

// begin notes that a view is about to be sent. It is refused while too many
// different ones are being sent; otherwise end must follow.
func (v *views) begin(w *view) error {
	if w.sending.Add(1) > 1 {
		return nil
	}
	if v.sending.Add(int64(len(w.clear))) > maxSendingBytes {
		v.end(w)
		return errBusy
	}
	return nil
}

func (v *views) end(w *view) {
	if w.sending.Add(-1) == 0 {
		v.sending.Add(-int64(len(w.clear)))
	}
}
