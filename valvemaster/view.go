package valvemaster

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/master"
)

// viewEvery is the minimum time between two builds of the list.
const viewEvery = 100 * time.Millisecond

// view is the list at one moment, in the order of addresses and ports. It never
// changes and is shared by all requests.
type view struct {
	entries []*entry
	made    time.Duration
	seen    uint64 // serial of the registry up to which changes are in it
	given   *given // the view for askers that get other addresses; nil: none
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

// lister follows the registry and keeps the view of it.
type lister struct {
	registry *master.Registry
	region   func(netip.AddrPort) byte // of the heartbeat of a source
	now      atomic.Pointer[view]      // nil: nothing was read yet

	mu      sync.Mutex // guards the fields below
	byKey   map[master.Key]*entry
	private int // entries with a private address
	buf     []master.Change

	// moving guards moved, so that a heartbeat does not wait for a view.
	moving sync.Mutex
	moved  map[netip.AddrPort]bool // servers that changed their region since the last view
	// allMoved is set when there are more of them.
	allMoved bool
}

// manyMoved is the number of servers with a changed region from which on all
// are read again.
const manyMoved = 1024

func newLister(r *master.Registry, region func(netip.AddrPort) byte) *lister {
	return &lister{registry: r, region: region, byKey: make(map[master.Key]*entry), moved: make(map[netip.AddrPort]bool)}
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
	v := l.now.Load()
	if v.fresh(now) {
		return v
	}
	v = l.follow(v, now)
	if l.private > 0 {
		v.given = &given{views: make(map[advertise.Asker]*view)}
	}
	l.now.Store(v)
	return v
}

func (v *view) fresh(now time.Duration) bool { return v != nil && now-v.made < viewEvery }

// follow returns the view after v.
func (l *lister) follow(v *view, now time.Duration) *view {
	moved, all := l.takeMoved()
	if v == nil || all {
		return l.readAll(now)
	}
	var ok bool
	var seen uint64
	if l.buf, seen, ok = l.registry.Changes("", v.seen, l.buf[:0]); !ok {
		return l.readAll(now)
	}
	next := &view{entries: v.entries, made: now, seen: seen}
	owned := false // next.entries is a copy
	for _, key := range moved {
		owned = l.update(next, key, owned)
	}
	for i := range l.buf {
		owned = l.update(next, l.buf[i].Key, owned)
	}
	return next
}

// update applies a change of a server. owned reports whether the view owns its
// entries; it does after a result of true.
func (l *lister) update(v *view, key master.Key, owned bool) bool {
	old := l.byKey[key]
	e := l.entryOf(key)
	if old == nil && e == nil || old != nil && e != nil && old.record == e.record && old.regions == e.regions {
		return owned
	}
	if !owned {
		v.entries = slices.Clone(v.entries)
	}
	l.replace(v, key, old, e)
	return true
}

// entryOf returns the entry of a server, nil if it is not in the list.
func (l *lister) entryOf(key master.Key) *entry {
	srv, ok := l.registry.Listed(key) // not a hidden one
	if !ok {
		return nil
	}
	e, _ := newEntry(srv, l.region(key.Source))
	return e
}

// replace puts e in the place of old. Either may be nil.
func (l *lister) replace(v *view, key master.Key, old, e *entry) {
	l.count(old, -1)
	l.count(e, 1)
	if old != nil {
		delete(l.byKey, key)
		if i, found := slices.BinarySearchFunc(v.entries, old.addr, compareAddr); found && v.entries[i] == old {
			if e != nil && e.addr == old.addr {
				l.byKey[key], v.entries[i] = e, e
				return
			}
			v.entries = slices.Delete(v.entries, i, i+1)
		}
	}
	if e == nil {
		return
	}
	l.byKey[key] = e
	i, found := slices.BinarySearchFunc(v.entries, e.addr, compareAddr)
	if found {
		v.entries[i] = e // the other one is gone; its change follows
		return
	}
	v.entries = slices.Insert(v.entries, i, e)
}

// readAll makes a view from the whole registry. The serial is read first, so
// that changes made meanwhile are read again.
func (l *lister) readAll(now time.Duration) *view {
	v := &view{made: now, seen: l.registry.LastSerial()}
	clear(l.byKey)
	l.private = 0
	for _, srv := range l.registry.All() {
		if e, ok := newEntry(srv.Server, l.region(srv.Key.Source)); ok {
			l.byKey[srv.Key] = e
			l.count(e, 1)
			v.entries = append(v.entries, e)
		}
	}
	slices.SortFunc(v.entries, func(a, b *entry) int { return a.addr.Compare(b.addr) })
	return v
}
