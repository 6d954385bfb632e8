package zanmaster

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// lists is the list in its encoded forms. It is immutable; all answers share
// the bytes.
type lists struct {
	serial  uint64   // of the last change of the game in the registry
	packets [][]byte // coded
	servers int
	blocks  []zandronum.Block
	given   *given // the list for askers that get other addresses; nil: none

	old     sync.Once
	oldData []byte
}

// oldForm returns the old form, coded. left is the number of servers that had no
// room in it, for the first caller.
func (l *lists) oldForm() (data []byte, left int) {
	l.old.Do(func() {
		var message []byte
		message, left = zandronum.OldList(l.blocks)
		l.oldData = zandronum.Encode(nil, message)
	})
	return l.oldData, left
}

// entry is a server in the order of the list: by its address as text.
type entry struct {
	text string
	addr netip.AddrPort
}

func compareEntries(a, b entry) int { return strings.Compare(a.text, b.text) }

// manyChanges is the number of changes from which on the whole list is read
// again.
const manyChanges = 64

// lister follows the registry and keeps the list coded.
type lister struct {
	registry *master.Registry
	now      atomic.Pointer[lists]

	mu      sync.Mutex // guards the fields below
	read    bool       // entries are those of serial seen
	seen    uint64     // serial up to which changes are applied
	entries []entry    // sorted
	byKey   map[master.Key]entry
	buf     []master.Change
	hide    bool // servers that do not enforce the ban list
}

func newLister(r *master.Registry) lister {
	return lister{registry: r, byKey: make(map[master.Key]entry)}
}

func (l *lister) takeOver(c *Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hide, l.read = c.NotEnforcing == hide, false
	l.now.Store(nil)
}

// current returns the present list. left is the number of servers that had no
// room in it, for the first caller.
func (l *lister) current() (list *lists, left int) {
	serial := l.registry.Serial(zandronum.Game)
	if list = l.now.Load(); list != nil && list.serial == serial {
		return list, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	serial = l.registry.Serial(zandronum.Game)
	changed := l.follow()
	if list = l.now.Load(); list != nil && !changed {
		if list.serial != serial { // something that is not in the list changed
			list = &lists{serial: serial, packets: list.packets, servers: list.servers, blocks: list.blocks, given: list.given}
			l.now.Store(list)
		}
		return list, 0
	}
	list, left = newLists(serial, l.entries)
	l.now.Store(list)
	return list, left
}

// follow applies the changes and reports whether the list has changed.
func (l *lister) follow() (changed bool) {
	if l.read {
		var ok bool
		var seen uint64
		if l.buf, seen, ok = l.registry.Changes(zandronum.Game, l.seen, l.buf[:0]); ok && len(l.buf) < manyChanges {
			l.seen = seen
			for i := range l.buf {
				changed = l.take(l.buf[i].Key) || changed
			}
			return changed
		}
	}
	l.readAll()
	return true
}

// readAll reads the whole list. The serial is read first, so that changes made
// meanwhile are read again.
func (l *lister) readAll() {
	l.seen = l.registry.LastSerial()
	l.entries, l.read = l.entries[:0], true
	clear(l.byKey)
	for srv := range l.registry.List(zandronum.Game) {
		if e, ok := l.entryOf(srv); ok {
			l.byKey[srv.Key] = e
			l.entries = append(l.entries, e)
		}
	}
	slices.SortFunc(l.entries, compareEntries)
}

// take looks at a server that changed and reports whether that concerns the list.
func (l *lister) take(key master.Key) bool {
	old, had := l.byKey[key]
	var e entry
	srv, has := l.registry.Listed(key)
	if has {
		e, has = l.entryOf(srv)
	}
	if has == had && (!has || e.addr == old.addr) {
		return false
	}
	if had {
		delete(l.byKey, key)
		if i, found := slices.BinarySearchFunc(l.entries, old, compareEntries); found {
			l.entries = slices.Delete(l.entries, i, i+1)
		}
	}
	if has {
		l.byKey[key] = e
		i, _ := slices.BinarySearchFunc(l.entries, e, compareEntries)
		l.entries = slices.Insert(l.entries, i, e)
	}
	return true
}

// entryOf returns the entry of a server; ok is false if launchers do not see it.
func (l *lister) entryOf(srv *master.Server) (e entry, ok bool) {
	if srv.Game != zandronum.Game || !srv.Public.Addr().Is4() {
		return e, false
	}
	switch srv.Origin {
	case master.FromZandronum, master.Static, master.Federated:
	default:
		return e, false
	}
	// A known server is in the registry only if it may be listed. A restored
	// server has only its record.
	if enforces, _ := srv.Rules.Get(zandronum.RuleEnforces); l.hide && srv.Restored && enforces == "0" {
		return e, false
	}
	return entry{srv.Public.String(), srv.Public}, true
}

// newLists codes the list and returns how many servers had no room.
func newLists(serial uint64, entries []entry) (list *lists, left int) {
	list = &lists{serial: serial, servers: len(entries)}
	ports := make([]uint16, 0, len(entries)) // shared by all blocks
	for _, e := range entries {
		if list.given == nil && master.IsPrivate(e.addr.Addr()) {
			list.given = &given{lists: make(map[advertise.Asker]*lists)}
		}
		ports = append(ports, e.addr.Port())
		if n := len(list.blocks); n > 0 && list.blocks[n-1].Addr == e.addr.Addr() {
			b := &list.blocks[n-1]
			b.Ports = b.Ports[:len(b.Ports)+1]
			continue
		}
		list.blocks = append(list.blocks, zandronum.Block{Addr: e.addr.Addr(), Ports: ports[len(ports)-1:]})
	}
	messages, left := zandronum.ListPackets(list.blocks)
	list.packets = make([][]byte, len(messages))
	for i, m := range messages {
		list.packets[i] = zandronum.Encode(make([]byte, 0, len(m)+1), m)
	}
	return list, left
}
