package zanmaster

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/uplink"
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
	given   *advertise.Forms[*lists] // the list for askers that get other addresses; nil: none

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

// givenTo returns the list with the addresses that an asker is given. left is the
// number of servers that had no room in it, for the first caller.
func (l *lists) givenTo(a advertise.Asker) (list *lists, left int) {
	if l.given == nil || a == (advertise.Asker{}) {
		return l, 0
	}
	list = l.given.For(a, func() (list *lists) {
		list, left = newLists(l.serial, l.entriesFor(a))
		return list
	})
	return list, left
}

// entriesFor returns the entries of the list for an asker. Servers with one
// address and port are merged.
func (l *lists) entriesFor(a advertise.Asker) []entry {
	entries := make([]entry, 0, l.servers)
	for _, b := range l.blocks {
		for _, port := range b.Ports {
			at := a.Given(netip.AddrPortFrom(b.Addr, port))
			entries = append(entries, entry{at.String(), at})
		}
	}
	slices.SortFunc(entries, compareEntries)
	return slices.CompactFunc(entries, sameEntry)
}

// entry is a server in the order of the list: by its address as text.
type entry struct {
	text string
	addr netip.AddrPort
}

func compareEntries(a, b entry) int { return strings.Compare(a.text, b.text) }

func sameEntry(a, b entry) bool { return a.addr == b.addr }

// manyChanges is the number of changes from which on the whole list is read
// again.
const manyChanges = 64

// lister follows the registry and keeps the list coded.
type lister struct {
	registry *master.Registry
	now      atomic.Pointer[lists]

	mu   sync.Mutex // guards the fields below
	rows uplink.Rows[entry, *lists]
	hide bool // servers that do not enforce the ban list
}

func newLister(r *master.Registry) *lister {
	l := &lister{registry: r}
	l.rows = uplink.NewRows[entry, *lists](r, uplink.RowForm[entry]{
		Game: zandronum.Game, Many: manyChanges, Row: l.entryOf,
		Addr: func(e entry) netip.AddrPort { return e.addr }, Compare: compareEntries, Same: sameEntry,
	})
	return l
}

func (l *lister) takeOver(c *Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hide = c.NotEnforcing == hide
	l.rows.Reset()
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
	l.rows.Follow()
	switch g := l.rows.All(); {
	case g.Made == nil:
		g.Made, left = newLists(serial, g.Rows)
		list = g.Made
	case g.Made.serial == serial:
		return g.Made, 0
	default: // something that is not in the list changed
		list = &lists{serial: serial, packets: g.Made.packets, servers: g.Made.servers, blocks: g.Made.blocks, given: g.Made.given}
		g.Made = list
	}
	l.now.Store(list)
	return list, left
}

// entryOf returns the entry of a server; ok is false if launchers do not see it.
func (l *lister) entryOf(srv *master.Server) (e entry, ok bool) {
	if srv.Game != zandronum.Game || !srv.Public.Addr().Is4() {
		return e, false
	}
	switch srv.Origin {
	case Origin, master.Static, master.Federated:
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
			list.given = &advertise.Forms[*lists]{}
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
