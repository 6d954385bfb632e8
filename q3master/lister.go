package q3master

import (
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/master"
)

const (
	// maxAnswers bounds the lists of one game and protocol that are kept encoded.
	maxAnswers = 64
	// maxGameType is the length of the longest type of game that a server has in
	// lists, in bytes.
	maxGameType = 31
	// manyChanges is the number of changes from which on the whole list is read
	// again.
	manyChanges = 4096
)

// listKey is what browsers request: the servers of a game with a protocol.
type listKey struct {
	name     string
	protocol int
}

// entry is a server with what requests pick it by.
type entry struct {
	key         listKey
	addr        netip.AddrPort
	gameType    string
	empty, full bool
	tagged      bool
}

func compareEntries(a, b entry) int { return a.addr.Compare(b.addr) }

// newEntry returns the entry of a record. ok is false if it is not for browsers of
// this protocol.
func newEntry(srv *master.Server) (e entry, ok bool) {
	name, ok := srv.Rules.Get(quake3.RuleGame)
	if !ok || name == "" {
		return entry{}, false
	}
	switch srv.Origin {
	case master.FromQuake3, master.Static, master.FromLAN, master.Federated:
	default:
		return entry{}, false
	}
	text, _ := srv.Rules.Get(quake3.RuleProtocol)
	protocol, err := strconv.ParseInt(text, 0, 32)
	if err != nil {
		return entry{}, false
	}
	gameType, ok := srv.Rules.Get(quake3.RuleGameType)
	if !ok || len(gameType) > maxGameType {
		gameType = "0"
	}
	tag, _ := srv.Rules.Get(quake3.RuleTag)
	most, _ := srv.Rules.Get(quake3.RuleMaxPlayers)
	players, room := srv.Population(), 0
	if n, ok := master.ParsePopulation(most); ok {
		room = n
	}
	return entry{
		key: listKey{name, int(protocol)}, addr: srv.Public, gameType: gameType, tagged: tag != named,
		empty: players == 0, full: room > 0 && players >= room,
	}, true
}

// passes reports whether a server is one of those that were requested.
func (o options) passes(e *entry) bool {
	switch {
	case e.empty && !o.empty, e.full && !o.full, o.tagged && !e.tagged, o.typed && e.gameType != o.gameType:
		return false
	case e.addr.Addr().Is4():
		return !o.only6
	default:
		return !o.only4
	}
}

// group holds the servers of a game and protocol, and their lists.
type group struct {
	entries []entry // by address
	private int     // of them with a private address
	answers map[answerKey][][]byte
}

// answerKey is what distinguishes lists of a group.
type answerKey struct {
	ext bool
	options
	asker advertise.Asker
}

// lister follows the list of servers and keeps the lists for browsers encoded.
type lister struct {
	registry *master.Registry
	none     map[bool][][]byte // lists without servers, by ext

	mu         sync.Mutex // guards the fields below
	read       bool       // the groups are those of serial seen
	seen       uint64
	groups     map[listKey]*group
	byKey      map[master.Key]entry
	byProtocol map[int][]string // names of groups, the oldest first
	buf        []master.Change
}

func newLister(r *master.Registry) *lister {
	return &lister{
		registry: r, byKey: make(map[master.Key]entry), groups: make(map[listKey]*group), byProtocol: make(map[int][]string),
		none: map[bool][][]byte{false: quake3.AppendLists(nil, nil, false), true: quake3.AppendLists(nil, nil, true)},
	}
}

// cached returns the number of lists that are kept encoded.
func (l *lister) cached() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.groups {
		n += len(g.answers)
	}
	return n
}

// answer returns the packets of a list, which all askers share.
func (l *lister) answer(q wanted, asker advertise.Asker) [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.follow()
	g := l.find(q)
	if g == nil {
		return l.none[q.ext]
	}
	if g.private == 0 {
		asker = advertise.Asker{}
	}
	k := answerKey{q.ext, q.options, asker}
	if packets, ok := g.answers[k]; ok {
		return packets
	}
	if g.answers == nil || len(g.answers) >= maxAnswers {
		g.answers = make(map[answerKey][][]byte)
	}
	packets := g.encode(k)
	g.answers[k] = packets
	return packets
}

// find returns the servers that a request is about; nil: there are none.
func (l *lister) find(q wanted) *group {
	if q.name != "" {
		return l.groups[listKey{q.name, q.protocol}]
	}
	for _, name := range l.byProtocol[q.protocol] {
		if g := l.groups[listKey{name, q.protocol}]; slices.ContainsFunc(g.entries, func(e entry) bool { return e.tagged }) {
			return g
		}
	}
	return nil
}

// encode makes a list.
func (g *group) encode(k answerKey) [][]byte {
	list := make([]netip.AddrPort, 0, len(g.entries))
	for i := range g.entries {
		if k.passes(&g.entries[i]) {
			list = append(list, k.asker.Given(g.entries[i].addr))
		}
	}
	if k.asker != (advertise.Asker{}) { // several servers may have one address to the outside
		slices.SortFunc(list, netip.AddrPort.Compare)
		list = slices.Compact(list)
	}
	return quake3.AppendLists(nil, list, k.ext)
}

// follow applies the changes of the list of servers. l.mu is held.
func (l *lister) follow() {
	if l.read {
		var ok bool
		var now uint64
		if l.buf, now, ok = l.registry.Changes("", l.seen, l.buf[:0]); ok && len(l.buf) < manyChanges {
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
func (l *lister) readAll() {
	l.seen, l.read = l.registry.LastSerial(), true
	clear(l.groups)
	clear(l.byKey)
	clear(l.byProtocol)
	for _, srv := range l.registry.All() {
		if e, ok := newEntry(srv.Server); ok {
			l.byKey[srv.Key] = e
			g := l.group(e.key)
			g.entries = append(g.entries, e)
			g.count(e, 1)
		}
	}
	for _, g := range l.groups {
		slices.SortFunc(g.entries, compareEntries)
	}
}

// group returns the group of a game and protocol, a new one if there is none.
func (l *lister) group(k listKey) *group {
	g := l.groups[k]
	if g == nil {
		g = &group{}
		l.groups[k] = g
		l.byProtocol[k.protocol] = append(l.byProtocol[k.protocol], k.name)
	}
	return g
}

// update applies a change of a server.
func (l *lister) update(key master.Key) {
	old, had := l.byKey[key]
	var e entry
	srv, has := l.registry.Listed(key) // not a hidden one
	if has {
		e, has = newEntry(srv)
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

func (l *lister) add(e entry) {
	g := l.group(e.key)
	i, _ := slices.BinarySearchFunc(g.entries, e, compareEntries)
	g.entries = slices.Insert(g.entries, i, e)
	g.count(e, 1)
	g.answers = nil
}

// remove removes an entry, and its group if that was the last one.
func (l *lister) remove(e entry) {
	g := l.groups[e.key]
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
	delete(l.groups, e.key)
	names := l.byProtocol[e.key.protocol]
	names = slices.DeleteFunc(names, func(name string) bool { return name == e.key.name })
	if len(names) == 0 {
		delete(l.byProtocol, e.key.protocol)
		return
	}
	l.byProtocol[e.key.protocol] = names
}

// count counts an entry that is added (1) or removed (-1) if its address is
// private.
func (g *group) count(e entry, by int) {
	if master.IsPrivate(e.addr.Addr()) {
		g.private += by
	}
}
