package valvemaster

import (
	"math"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/uplink"
	"github.com/respawnd/respawnd/master"
)

// viewEvery is the minimum time between two builds of the list.
const viewEvery = 100 * time.Millisecond

// view is the list at one moment, in the order of addresses and ports. It never
// changes and is shared by all requests.
type view struct {
	entries []*entry
	made    time.Duration
	given   *advertise.Forms[*view] // the view for askers that get other addresses; nil: none
}

// behind returns the index of the first server after an address.
func (v *view) behind(a netip.AddrPort) int {
	i, found := slices.BinarySearchFunc(v.entries, a, compareAddr)
	if found {
		i++
	}
	return i
}

func compareAddr(e *entry, a netip.AddrPort) int { return e.addr.Compare(a) }

func compareEntries(a, b *entry) int { return a.addr.Compare(b.addr) }

// page appends the servers after seed that pass, at most limit, and reports
// whether there are more. looked is the number of servers compared.
func (v *view) page(to []netip.AddrPort, limit int, seed netip.AddrPort, region byte, f *filter) (page []netip.AddrPort, more bool, looked int) {
	i := v.behind(seed)
	start := i
	last := seed.Addr() // of the server that was listed last
	if seed == Start {
		last = netip.Addr{}
	}
	for ; i < len(v.entries); i++ {
		e := v.entries[i]
		if f.collapse && e.addr.Addr() == last {
			continue
		}
		if !e.regions.has(region) || !f.match(e) {
			continue
		}
		if len(to) == limit {
			return to, true, i - start
		}
		to = append(to, e.addr)
		last = e.addr.Addr()
	}
	return to, false, i - start
}

// givenTo returns the view with the addresses that an asker gets, in their
// order. Servers with one address and port are merged.
func (v *view) givenTo(a advertise.Asker) *view {
	if v.given == nil || a == (advertise.Asker{}) {
		return v
	}
	return v.given.For(a, func() *view {
		other := &view{entries: make([]*entry, 0, len(v.entries)), made: v.made}
		for _, e := range v.entries {
			if at := a.Given(e.addr); at != e.addr {
				moved := *e
				moved.addr = at
				e = &moved
			}
			other.entries = append(other.entries, e)
		}
		slices.SortStableFunc(other.entries, compareEntries)
		other.entries = slices.CompactFunc(other.entries, func(a, b *entry) bool { return a.addr == b.addr })
		return other
	})
}

// lister follows the registry and keeps the view of it.
type lister struct {
	registry *master.Registry
	region   func(netip.AddrPort) byte // of the heartbeat of a source
	now      atomic.Pointer[view]      // nil: nothing was read yet

	mu   sync.Mutex // guards rows
	rows uplink.Rows[*entry, *view]

	// moving guards moved, so that a heartbeat does not wait for a view.
	moving sync.Mutex
	moved  map[netip.AddrPort]bool // servers that changed their region since the last view
	// allMoved is set when there are more of them.
	allMoved bool
}

const (
	// manyMoved is the number of servers with a changed region from which on all
	// are read again.
	manyMoved = 1024
	// manyChanges is the number of changes from which on all are read again: more than
	// the registry keeps.
	manyChanges = math.MaxInt
)

func newLister(r *master.Registry, region func(netip.AddrPort) byte) *lister {
	l := &lister{registry: r, region: region, moved: make(map[netip.AddrPort]bool)}
	l.rows = uplink.NewRows[*entry, *view](r, uplink.RowForm[*entry]{
		Many: manyChanges, Compare: compareEntries,
		Row:  func(srv *master.Server) (*entry, bool) { return newEntry(srv, l.region(srv.Key.Source)) },
		Addr: func(e *entry) netip.AddrPort { return e.addr },
		Same: func(a, b *entry) bool { return a.record == b.record && a.regions == b.regions },
	})
	return l
}

// move records that the region in a server's heartbeat has changed.
func (l *lister) move(a netip.AddrPort) {
	l.moving.Lock()
	defer l.moving.Unlock()
	if len(l.moved) == manyMoved {
		l.allMoved = true
		return
	}
	l.moved[a] = true
}

// takeMoved returns and clears the keys of the servers that moved, or reports
// that there are too many.
func (l *lister) takeMoved() (keys []master.Key, all bool) {
	l.moving.Lock()
	defer l.moving.Unlock()
	for a := range l.moved {
		if srv, ok := l.registry.At(a); ok {
			keys = append(keys, srv.Key)
		}
	}
	all = l.allMoved
	clear(l.moved)
	l.allMoved = false
	return keys, all
}

// current returns the list, which may be viewEvery old.
func (l *lister) current(now time.Duration) *view {
	if v := l.now.Load(); v.fresh(now) {
		return v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.now.Load(); v.fresh(now) {
		return v
	}
	moved, all := l.takeMoved()
	if all {
		l.rows.Reset()
	}
	l.rows.Follow(moved...)
	g := l.rows.All()
	v := &view{made: now}
	if g.Made != nil {
		v.entries, v.given = g.Made.entries, g.Made.given
	} else {
		v.entries = slices.Clone(g.Rows)
		if g.Private > 0 {
			v.given = &advertise.Forms[*view]{}
		}
	}
	g.Made = v
	l.now.Store(v)
	return v
}

func (v *view) fresh(now time.Duration) bool { return v != nil && now-v.made < viewEvery }
