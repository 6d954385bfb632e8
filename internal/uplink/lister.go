package uplink

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/master"
)

const (
	// MaxAnswers bounds the lists of one game and protocol that are kept encoded.
	MaxAnswers = 64
	// MaxGameType is the length of the longest type of game that a server has in
	// lists, in bytes.
	MaxGameType = 31
	// ManyChanges is the number of changes from which on the whole list is read
	// again.
	ManyChanges = 4096
)

// ListKey identifies a list that browsers request: the servers of a game with a protocol.
type ListKey struct {
	Name     string // in the protocol
	Protocol int
}

// Entry is a server with the values by which requests select it.
type Entry struct {
	Key         ListKey
	Addr        netip.AddrPort
	GameType    string
	Empty, Full bool
	Tagged      bool // it may leave out its name
}

// Picks pick servers of a game and protocol.
type Picks struct {
	Empty, Full bool   // these too
	Typed       bool   // only those of GameType
	GameType    string // at most MaxGameType bytes
	Only4       bool
	Only6       bool
	Tagged      bool // only servers that may leave out the name
}

// Wanted is a request whose game is known.
type Wanted struct {
	Name     string // of the game; empty: that of the protocol's servers
	Protocol int
	Ext      bool
	Picks
}

// ListForm is the form of lists.
type ListForm struct {
	// Entry returns the entry of a record. ok is false if it is not for browsers of
	// this protocol.
	Entry func(*master.Server) (e Entry, ok bool)
	// Append appends the packets of a list.
	Append func(packets [][]byte, servers []netip.AddrPort, ext bool) [][]byte
}

func compareEntries(a, b Entry) int { return a.Addr.Compare(b.Addr) }

// passes reports whether a server is one of those that were requested.
func (o Picks) passes(e *Entry) bool {
	switch {
	case e.Empty && !o.Empty, e.Full && !o.Full, o.Tagged && !e.Tagged, o.Typed && e.GameType != o.GameType:
		return false
	case e.Addr.Addr().Is4():
		return !o.Only6
	default:
		return !o.Only4
	}
}

// group holds the servers of a game and protocol, and their lists.
type group struct {
	entries []Entry // by address
	private int     // of them with a private address
	answers map[answerKey][][]byte
}

// answerKey distinguishes the lists of a group.
type answerKey struct {
	ext bool
	Picks
	asker advertise.Asker
}

// Lister follows the list of servers and keeps the lists for browsers encoded.
type Lister struct {
	registry *master.Registry
	form     ListForm
	none     map[bool][][]byte // lists without servers, by ext

	mu         sync.Mutex // guards the fields below
	read       bool       // the groups are those of serial seen
	seen       uint64
	groups     map[ListKey]*group
	byKey      map[master.Key]Entry
	byProtocol map[int][]string // names of groups, the oldest first
	buf        []master.Change
}

// NewLister returns a Lister of a list of servers.
func NewLister(r *master.Registry, form ListForm) *Lister {
	return &Lister{
		registry: r, form: form, byKey: make(map[master.Key]Entry), groups: make(map[ListKey]*group), byProtocol: make(map[int][]string),
		none: map[bool][][]byte{false: form.Append(nil, nil, false), true: form.Append(nil, nil, true)},
	}
}

// Cached returns the number of lists that are kept encoded.
func (l *Lister) Cached() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.groups {
		n += len(g.answers)
	}
	return n
}

// Answer returns the packets of a list, which all askers share.
func (l *Lister) Answer(q Wanted, asker advertise.Asker) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow()
	g := l.find(q)
	if g == nil {
		return l.none[q.Ext]
	}
	if g.private == 0 {
		asker = advertise.Asker{}
	}
	k := answerKey{q.Ext, q.Picks, asker}
	if packets, ok := g.answers[k]; ok {
		return packets
	}
	if g.answers == nil || len(g.answers) >= MaxAnswers {
		g.answers = make(map[answerKey][][]byte)
	}
	packets := g.encode(k, l.form.Append)
	g.answers[k] = packets
	return packets
}

// All returns the servers of all games and protocols, at most so many.
func (l *Lister) All(most int) (list []netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow()
	for _, e := range l.byKey {
		if len(list) >= most {
			break
		}
		list = append(list, e.Addr)
	}
	return list
}

// Groups returns the number of games and protocols that have servers.
func (l *Lister) Groups() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow()
	return max(len(l.groups), len(l.byProtocol), len(l.byKey))
}

// find returns the servers that a request is about; nil: there are none.
func (l *Lister) find(q Wanted) *group {
	if q.Name != "" {
		return l.groups[ListKey{q.Name, q.Protocol}]
	}
	for _, name := range l.byProtocol[q.Protocol] {
		if g := l.groups[ListKey{name, q.Protocol}]; slices.ContainsFunc(g.entries, func(e Entry) bool { return e.Tagged }) {
			return g
		}
	}
	return nil
}

// encode makes a list.
func (g *group) encode(k answerKey, lists func([][]byte, []netip.AddrPort, bool) [][]byte) [][]byte {
	list := make([]netip.AddrPort, 0, len(g.entries))
	for i := range g.entries {
		if k.passes(&g.entries[i]) {
			list = append(list, k.asker.Given(g.entries[i].Addr))
		}
	}
	if k.asker != (advertise.Asker{}) { // several servers may have one address to the outside
		slices.SortFunc(list, netip.AddrPort.Compare)
		list = slices.Compact(list)
	}
	return lists(nil, list, k.ext)
}

// follow applies the changes of the list of servers. l.mu is held.
func (l *Lister) follow() {
	if l.read {
		var ok bool
		var now uint64
		if l.buf, now, ok = l.registry.Changes("", l.seen, l.buf[:0]); ok && len(l.buf) < ManyChanges {
			l.seen = now
			for i := range l.buf {
				l.update(l.buf[i].Key)
			}
			return
		}
	}
	l.readAll()
}

// readAll reads the whole list. The serial is read first, so that changes made
// meanwhile are read again.
func (l *Lister) readAll() {
	l.seen, l.read = l.registry.LastSerial(), true
	clear(l.groups)
	clear(l.byKey)
	clear(l.byProtocol)
	for _, srv := range l.registry.All() {
		if e, ok := l.form.Entry(srv.Server); ok {
			l.byKey[srv.Key] = e
			g := l.group(e.Key)
			g.entries = append(g.entries, e)
			g.count(e, 1)
		}
	}
	for _, g := range l.groups {
		slices.SortFunc(g.entries, compareEntries)
	}
}

// group returns the group of a game and protocol, a new one if there is none.
func (l *Lister) group(k ListKey) *group {
	g := l.groups[k]
	if g == nil {
		g = &group{}
		l.groups[k] = g
		l.byProtocol[k.Protocol] = append(l.byProtocol[k.Protocol], k.Name)
	}
	return g
}

// update applies a change of a server.
func (l *Lister) update(key master.Key) {
	old, had := l.byKey[key]
	var e Entry
	srv, has := l.registry.Listed(key) // not a hidden one
	if has {
		e, has = l.form.Entry(srv)
	}
	if had == has && old == e {
		return
	}
	if had {
		delete(l.byKey, key)
		l.remove(old)
	}
	if has {
		l.byKey[key] = e
		l.add(e)
	}
}

func (l *Lister) add(e Entry) {
	g := l.group(e.Key)
	i, _ := slices.BinarySearchFunc(g.entries, e, compareEntries)
	g.entries = slices.Insert(g.entries, i, e)
	g.count(e, 1)
	g.answers = nil
}

// remove removes an Entry, and its group if that was the last one.
func (l *Lister) remove(e Entry) {
	g := l.groups[e.Key]
	i, found := slices.BinarySearchFunc(g.entries, e, compareEntries)
	if !found {
		return
	}
	g.entries = slices.Delete(g.entries, i, i+1)
	g.count(e, -1)
	g.answers = nil
	if len(g.entries) > 0 {
		return
	}
	delete(l.groups, e.Key)
	names := l.byProtocol[e.Key.Protocol]
	names = slices.DeleteFunc(names, func(name string) bool { return name == e.Key.Name })
	if len(names) == 0 {
		delete(l.byProtocol, e.Key.Protocol)
		return
	}
	l.byProtocol[e.Key.Protocol] = names
}

// count counts an Entry that is added (1) or removed (-1) if its address is
// private.
func (g *group) count(e Entry, by int) {
	if master.IsPrivate(e.Addr.Addr()) {
		g.private += by
	}
}
