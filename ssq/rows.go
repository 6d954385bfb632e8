package ssq

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/master"
)

const (
	// maxAge is how long a snapshot serves although the list did not change: the
	// times at which servers were last heard move on.
	maxAge = time.Second

	// maxStated is the largest number of players that a server is believed to have.
	maxStated = 9999
)

// row is a listed server with what is read of it more than once.
type row struct {
	master.Heard
	names      *infoSlots
	players    int
	maxPlayers int
}

// infoSlots are the places of the rules that columns are made of, for all
// servers that report the same names. -1: not reported.
type infoSlots struct {
	host, area, players, max, password, port int
}

func slotOf(names *master.Names, name string) int {
	if i, ok := names.Index(name); ok {
		return i
	}
	return -1
}

func newInfoSlots(n *master.Names) *infoSlots {
	return &infoSlots{
		host: slotOf(n, "hostname"), area: slotOf(n, "mapname"), players: slotOf(n, "numplayers"),
		max: slotOf(n, "maxplayers"), password: slotOf(n, "password"), port: slotOf(n, "hostport"),
	}
}

// rule returns the value in a slot, "" if the server has none.
func (r *row) rule(slot int) string {
	if slot < 0 {
		return ""
	}
	return r.Rules.Value(slot)
}

// stated returns the number in a slot; ok is false if there is none that could
// be a number of players.
func (r *row) stated(slot int) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimSpace(r.rule(slot)))
	return n, err == nil && n >= 0 && n <= maxStated
}

func (r *row) fill(h master.Heard, names *infoSlots) {
	r.Heard, r.names = h, names
	if n, ok := r.stated(names.max); ok {
		r.maxPlayers = n
	}
	if n, ok := r.stated(names.players); ok {
		r.players = n
	} else {
		r.players = min(r.Players.Rows(), maxStated)
	}
}

// place is where a server stands in the order of all answers: by the address that
// lists show. It does not depend on what servers say, so that a client can go on
// where an answer ended.
type place struct {
	number uint64 // of an IPv4 address and port, 0 for others
	heard  *master.Heard
}

func placeOf(h *master.Heard) place {
	p := place{heard: h}
	if a := h.Public.Addr(); a.Is4() {
		b := a.As4()
		p.number = uint64(binary.BigEndian.Uint32(b[:]))<<16 | uint64(h.Public.Port())
	}
	return p
}

func comparePlaces(a, b place) int {
	if a.number == 0 || b.number == 0 {
		return a.heard.Public.Compare(b.heard.Public)
	}
	return cmp.Compare(a.number, b.number)
}

// snapshot is the list as it was at one moment. It never changes.
type snapshot struct {
	serial uint64    // of the registry; the rows are at least this new
	begun  time.Time // when reading the registry began
	rows   []row

	// The different lists of names that servers report, in the order of the rows.
	rules   []*master.Names
	players func() []*master.Names // made when first asked for
	teams   func() []*master.Names
}

// lister hands out snapshots and keeps the last one. Nothing happens unless
// somebody asks.
type lister struct {
	registry *master.Registry
	building sync.Mutex // held while a snapshot is made
	current  atomic.Pointer[snapshot]
}

// now returns a snapshot that has every change made before the call.
func (l *lister) now() *snapshot {
	asked := time.Now()
	if s := l.current.Load(); s != nil && s.fresh(l.registry.LastSerial(), asked) {
		return s
	}
	l.building.Lock()
	defer l.building.Unlock()
	if s := l.current.Load(); s != nil && (s.begun.After(asked) || s.fresh(l.registry.LastSerial(), asked)) {
		return s
	}
	s := l.build()
	l.current.Store(s)
	return s
}

func (s *snapshot) fresh(serial uint64, now time.Time) bool {
	return s.serial == serial && now.Sub(s.begun) < maxAge
}

func (l *lister) build() *snapshot {
	s := &snapshot{begun: time.Now(), serial: l.registry.LastSerial()}
	heard := l.registry.All()
	places := make([]place, len(heard))
	for i := range heard {
		places[i] = placeOf(&heard[i])
	}
	slices.SortFunc(places, comparePlaces)
	s.rows = make([]row, len(heard))
	known := make(map[*master.Names]*infoSlots)
	for i, p := range places {
		names := p.heard.Rules.Names()
		slots := known[names]
		if slots == nil {
			slots = newInfoSlots(names)
			known[names] = slots
			s.rules = append(s.rules, names)
		}
		s.rows[i].fill(*p.heard, slots)
	}
	s.players = sync.OnceValue(func() []*master.Names { return distinct(s.rows, func(r *row) master.Table { return r.Players }) })
	s.teams = sync.OnceValue(func() []*master.Names { return distinct(s.rows, func(r *row) master.Table { return r.Teams }) })
	return s
}

// distinct returns the different lists of columns of a table.
func distinct(rows []row, table func(*row) master.Table) (lists []*master.Names) {
	seen := make(map[*master.Names]bool)
	for i := range rows {
		if n := table(&rows[i]).Names(); n != nil && !seen[n] {
			seen[n] = true
			lists = append(lists, n)
		}
	}
	return lists
}

// reported tells whether one of the lists has one of the names.
func reported(lists []*master.Names, names ...string) bool {
	return slices.ContainsFunc(lists, func(n *master.Names) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slotOf(n, name) >= 0 })
	})
}
