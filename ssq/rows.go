package ssq

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
)

// row is a listed server with values that are read more than once.
type row struct {
	master.Record
	names      *infoSlots
	players    int
	maxPlayers int
}

// infoSlots are the places of the rules that columns are made of, for all
// servers that report the same names. -1: not reported.
type infoSlots struct {
	host, area, max, password, port int
}

func slotOf(names *master.Names, name string) int {
	if i, ok := names.Index(name); ok {
		return i
	}
	return -1
}

func newInfoSlots(n *master.Names) *infoSlots {
	return &infoSlots{
		host: slotOf(n, "hostname"), area: slotOf(n, "mapname"), max: slotOf(n, "maxplayers"),
		password: slotOf(n, "password"), port: slotOf(n, "hostport"),
	}
}

// rule returns the value in a slot, "" if the server has none.
func (r *row) rule(slot int) string {
	if slot < 0 {
		return ""
	}
	return r.Rules.Value(slot)
}

func (r *row) fill(h master.Record, names *infoSlots) {
	r.Record, r.names = h, names
	r.players = h.Population()
	r.maxPlayers, _ = master.ParsePopulation(r.rule(names.max))
}

// place is the position of a server in the order of all answers: by its public
// address. It does not depend on reports, so that a client can continue where
// an answer ended.
type place struct {
	number uint64 // of an IPv4 address and port, 0 for others
	record *master.Record
}

func placeOf(h *master.Record) place {
	p := place{record: h}
	if a := h.Public.Addr(); a.Is4() {
		b := a.As4()
		p.number = uint64(binary.BigEndian.Uint32(b[:]))<<16 | uint64(h.Public.Port())
	}
	return p
}

func comparePlaces(a, b place) int {
	if a.number == 0 || b.number == 0 {
		return a.record.Public.Compare(b.record.Public)
	}
	return cmp.Compare(a.number, b.number)
}

// snapshot is the list as it was at one moment. It never changes.
type snapshot struct {
	rows []row

	// The different lists of names that servers report, in the order of the rows.
	rules   []*master.Names
	players func() []*master.Names // made at the first use
	teams   func() []*master.Names
}

// newLatest returns a cache of snapshots. They are made on request only.
func newLatest(r *master.Registry) *views.Latest[snapshot] {
	return views.NewLatest(r.LastSerial, func(*snapshot) *snapshot { return newSnapshot(r.All()) })
}

func newSnapshot(records []master.Record) *snapshot {
	s := &snapshot{}
	places := make([]place, len(records))
	for i := range records {
		places[i] = placeOf(&records[i])
	}
	slices.SortFunc(places, comparePlaces)
	s.rows = make([]row, len(records))
	known := make(map[*master.Names]*infoSlots)
	for i, p := range places {
		names := p.record.Rules.Names()
		slots := known[names]
		if slots == nil {
			slots = newInfoSlots(names)
			known[names] = slots
			s.rules = append(s.rules, names)
		}
		s.rows[i].fill(*p.record, slots)
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

func reported(lists []*master.Names, names ...string) bool {
	return slices.ContainsFunc(lists, func(n *master.Names) bool {
		return slices.ContainsFunc(names, func(name string) bool { return slotOf(n, name) >= 0 })
	})
}
