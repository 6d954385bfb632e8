package uplink

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"strconv"
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
	// BusyFirst reports that servers with players come first, as a list may be cut.
	BusyFirst bool
}

func (f *ListForm) compare(a, b Entry) int {
	if f.BusyFirst && a.Empty != b.Empty {
		if b.Empty {
			return -1
		}
		return 1
	}
	return a.Addr.Compare(b.Addr)
}

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

// answers are the lists of a group.
type answers map[answerKey][][]byte

// answerKey distinguishes the lists of a group.
type answerKey struct {
	ext bool
	Picks
	asker advertise.Asker
}

// Lister follows the list of servers and keeps the lists for browsers encoded.
type Lister struct {
	form ListForm
	none map[bool][][]byte // lists without servers, by ext

	mu   sync.Mutex // guards rows
	rows Rows[Entry, answers]

	trials *Lister // of the servers of self-tests; nil in that one itself
}

// NewLister returns a Lister of a list of servers.
func NewLister(r *master.Registry, form ListForm) *Lister {
	l := newLister(r, form)
	l.trials = newLister(r.Trials(), form)
	return l
}

func newLister(r *master.Registry, form ListForm) *Lister {
	return &Lister{
		form: form, none: map[bool][][]byte{false: form.Append(nil, nil, false), true: form.Append(nil, nil, true)},
		rows: NewRows[Entry, answers](r, RowForm[Entry]{
			Many: ManyChanges, Row: form.Entry,
			Group:   func(e Entry) ListKey { return e.Key },
			Addr:    func(e Entry) netip.AddrPort { return e.Addr },
			Compare: form.compare,
			Same:    func(a, b Entry) bool { return a == b },
		}),
	}
}

// Cached returns the number of lists that are kept encoded.
func (l *Lister) Cached() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.rows.groups {
		n += len(g.Made)
	}
	return n
}

// Answer returns the packets of a list, which all askers share.
func (l *Lister) Answer(q Wanted, asker advertise.Asker) [][]byte {
	if asker.IsTrial() {
		l = l.trials
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows.Follow()
	g := l.find(q)
	if g == nil {
		return l.none[q.Ext]
	}
	if g.Private == 0 {
		asker = advertise.Asker{}
	}
	k := answerKey{q.Ext, q.Picks, asker}
	if packets, ok := g.Made[k]; ok {
		return packets
	}
	if g.Made == nil || len(g.Made) >= MaxAnswers {
		g.Made = make(answers)
	}
	packets := l.form.Append(nil, k.pick(g.Rows), k.ext)
	g.Made[k] = packets
	return packets
}

// Files calls put with the packets of each list, as a client outside gets them, for
// service.Running.Files. folder is the name of the service.
func (l *Lister) Files(folder string, outside advertise.Asker, put func(name string, content []byte)) {
	l.mu.Lock()
	l.rows.Follow()
	keys := slices.Collect(maps.Keys(l.rows.groups))
	l.mu.Unlock()
	for _, k := range keys {
		name := k.Name
		if k.Protocol != 0 {
			name += "-" + strconv.Itoa(k.Protocol)
		}
		q := Wanted{Name: k.Name, Protocol: k.Protocol, Picks: Picks{Empty: true, Full: true}}
		PutPackets(put, folder, name, l.Answer(q, outside))
	}
}

// PutPackets calls put with a file of packets, each behind its length: 2 bytes, big endian.
func PutPackets(put func(name string, content []byte), folder, list string, packets [][]byte) {
	var content []byte
	for _, p := range packets {
		content = append(binary.BigEndian.AppendUint16(content, uint16(len(p))), p...)
	}
	put("packets/"+folder+"/"+list, content)
}

// All returns the servers of all games and protocols, at most so many.
func (l *Lister) All(most int) (list []netip.AddrPort) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows.Follow()
	for _, e := range l.rows.byKey {
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
	l.rows.Follow()
	return max(len(l.rows.groups), len(l.rows.byKey))
}

// find returns the servers that a request is about; nil: there are none. Of those that do
// not name their game the oldest group counts.
func (l *Lister) find(q Wanted) (found *Group[Entry, answers]) {
	if q.Name != "" {
		return l.rows.Group(ListKey{q.Name, q.Protocol})
	}
	for k, g := range l.rows.groups {
		if k.Protocol == q.Protocol && (found == nil || g.born < found.born) && slices.ContainsFunc(g.Rows, func(e Entry) bool { return e.Tagged }) {
			found = g
		}
	}
	return found
}

// pick returns the servers of a list.
func (k *answerKey) pick(rows []Entry) []netip.AddrPort {
	list := make([]netip.AddrPort, 0, len(rows))
	for i := range rows {
		if k.passes(&rows[i]) {
			list = append(list, k.asker.Given(rows[i].Addr))
		}
	}
	if k.asker != (advertise.Asker{}) { // several servers may have one address to the outside
		slices.SortFunc(list, netip.AddrPort.Compare)
		list = slices.Compact(list)
	}
	return list
}
