package valvemaster

import (
	"slices"
	"sync"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/master"
)

// mostGiven is the maximum number of forms of a view that are kept for
// different askers.
const mostGiven = 64

// given keeps a view with private servers in the forms that askers on different
// networks are given.
type given struct {
	mu    sync.Mutex // guards views
	views map[advertise.Asker]*view
}

// count counts an entry, which may be nil, that is added (1) or removed (-1) if
// its address is private. l.mu is held.
func (l *lister) count(e *entry, by int) {
	if e != nil && master.IsPrivate(e.addr.Addr()) {
		l.private += by
	}
}

// givenTo returns the view with the addresses that an asker gets, in their
// order. Servers with one address and port are merged.
func (v *view) givenTo(a advertise.Asker) *view {
	if v.given == nil || a == (advertise.Asker{}) {
		return v
	}
	v.given.mu.Lock()
	defer v.given.mu.Unlock()
	if other, ok := v.given.views[a]; ok {
		return other
	}
	other := &view{entries: make([]*entry, 0, len(v.entries)), made: v.made, seen: v.seen}
	for _, e := range v.entries {
		if at := a.Given(e.addr); at != e.addr {
			moved := *e
			moved.addr = at
			e = &moved
		}
		other.entries = append(other.entries, e)
	}
	slices.SortStableFunc(other.entries, func(a, b *entry) int { return a.addr.Compare(b.addr) })
	other.entries = slices.CompactFunc(other.entries, func(a, b *entry) bool { return a.addr == b.addr })
	if len(v.given.views) == mostGiven {
		clear(v.given.views)
	}
	v.given.views[a] = other
	return other
}
