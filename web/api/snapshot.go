package api

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/advertise"
	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"

	"github.com/respawnd/respawnd/web/front"
)

// Snapshot is the list as it was at one moment, in the order in which it is
// given out, with the answers that were written from it. Only texts, orders and
// answers change.
type Snapshot struct {
	Master  string    // identity of this daemon; may be empty
	Begun   time.Time // when reading the registry began
	serial  uint64    // every change of the registry up to this one is in it
	titles  uint64    // changes when the title, the colour codes or the join links of a listed game do
	Rows    []*Row    // by game, players (most first), address
	Games   []ListedGame
	Players int // in all

	read  []*Row            // in the order in which the registry had the records
	spans map[string][2]int // by game: its part of read

	sharing func(game string) []string // see master.Registry.Sharing

	texts atomic.Int64 // number of rows that have one

	orders    orders
	countries countries
	Answers   front.Cache
}

// ListedGame is a game that has servers.
type ListedGame struct {
	Name, Title string
	Players     int
	Colours     colour.Family
	join        joinForm
	from, to    int // its rows
	serial      uint64
}

// Servers returns the number of servers.
func (g ListedGame) Servers() int { return g.to - g.from }

// Row is a server of a snapshot.
type Row struct {
	*reading
	Last    time.Time // time of its last report
	lasting bool      // the snapshot before had the same reading
	at      int32     // index in Snapshot.Rows
	brief   brief
}

// brief has the values of a server that filters compare. They are a part of each row,
// because rows lie side by side in memory: most servers are left out without a
// look at their readings.
type brief struct {
	rank     uint64 // see rankOf
	players  int16
	country  [2]byte
	open     bool // without password
	private  bool // its address depends on the asker
	joinable master.Joinable
	six      bool   // its address is of IPv6
	public   uint32 // mark of its address; the address itself if it is of IPv4
	source   uint32 // mark of the address that reported it
	grams    grams  // of found
}

// markOf returns a number for an address. Few addresses have the same.
func markOf(a netip.Addr) uint32 {
	if a.Is4() {
		b := a.As4()
		return binary.BigEndian.Uint32(b[:])
	}
	b := a.As16()
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	return uint32(high>>32) ^ uint32(high) ^ uint32(low>>32) ^ uint32(low)
}

// At returns the servers on an address, and those that reported from it. The slice is
// the caller's.
func (s *Snapshot) At(a netip.Addr) (found []*Row) {
	mark := markOf(a)
	for _, r := range s.Rows {
		if (r.brief.public == mark || r.brief.source == mark) && (r.Public.Addr() == a || r.Key.Source.Addr() == a) {
			found = append(found, r)
		}
	}
	return found
}

func newRow(r *reading, last time.Time) Row {
	row := Row{reading: r, Last: last}
	row.brief = brief{rank: r.Rank, players: int16(r.Count), open: !r.Password, private: master.IsPrivate(r.Public.Addr()), joinable: r.Joinable(), grams: r.found.grams, six: !r.Public.Addr().Is4()}
	row.brief.public, row.brief.source = markOf(r.Public.Addr()), markOf(r.Key.Source.Addr())
	copy(row.brief.country[:], r.Country)
	return row
}

type lister struct {
	registry *master.Registry
	catalog  *games.Catalog
	seed     maphash.Seed
	master   string // see Options.Master
	latest   *views.Latest[Snapshot]
	trials   *lister // of the servers of self-tests; nil in that one itself
}

// of returns what makes the lists for an asker.
func (l *lister) of(asker advertise.Asker) *lister {
	if asker.IsTrial() {
		return l.trials
	}
	return l
}

func newLister(r *master.Registry, c *games.Catalog) *lister {
	l := &lister{registry: r, catalog: c, seed: maphash.MakeSeed()}
	l.latest = views.NewLatest(r.LastSerial, l.build)
	l.latest.Hold((*Snapshot).hold)
	return l
}

const (
	// HoldFor is how long a snapshot of at least holdFrom servers answers requests although
	// the list changes.
	HoldFor = 500 * time.Millisecond
	// holdFrom is the number of servers up to which a snapshot is made for each change: it
	// takes less than a millisecond then.
	holdFrom = 2000
)

// hold returns how long the snapshot answers requests although the list changes.
func (s *Snapshot) hold() time.Duration {
	if len(s.Rows) < holdFrom {
		return 0
	}
	return HoldFor
}

// now returns a snapshot that has every change made before the call; one of a long list,
// every change made HoldFor before.
func (l *lister) now() *Snapshot { return l.latest.Now() }

// gameSerial returns a serial up to which a snapshot has every change of a game's list, of
// the whole list if game is empty. Snapshots with the same serial have the same servers.
func (l *lister) gameSerial(s *Snapshot, game string) uint64 {
	switch g := s.game(game); {
	case game == "":
		return s.serial
	case g.Servers() > 0:
		return g.serial
	default:
		return min(l.registry.Serial(game), s.serial)
	}
}

// build reads the registry and the catalogue. Of records that the last snapshot
// has, too, nothing is read again, and their rows are not sorted again. last may
// be nil.
func (l *lister) build(last *Snapshot) *Snapshot {
	s := &Snapshot{Master: l.master, Begun: time.Now(), sharing: l.registry.Sharing}
	s.serial = l.registry.LastSerial() // before the list is read: the list may be newer, never older
	all := l.registry.All()
	rd := newReader(l) // the only reader of titles: those of a game must not differ
	if last == nil {
		last = new(Snapshot)
	}
	m := last.match(all, rd)
	kept := s.keep(last.Rows, m)
	fresh := make([]Row, 0, len(all)-len(kept))
	s.read = make([]*Row, len(all))
	for p, h := range all {
		if at := m.of[p]; at >= 0 {
			s.read[p] = m.next[at]
			continue
		}
		fresh = append(fresh, newRow(rd.read(h.Server), h.LastSeen))
		s.read[p] = &fresh[len(fresh)-1]
	}
	s.spans = make(map[string][2]int)
	for begin, end := 0, 0; begin < len(all); begin = end {
		for end < len(all) && all[end].Game == all[begin].Game {
			end++
		}
		s.spans[all[begin].Game] = [2]int{begin, end}
	}
	s.Rows = merged(pointers(kept), Sorted(pointers(fresh), false, ByGame.key))
	s.rankAs(last, m, pointers(fresh))
	for i, r := range s.Rows {
		r.at = int32(i)
	}
	l.group(s)
	return s
}

// matches says which rows of the last snapshot have records that are still listed.
type matches struct {
	of   []int32     // by record: the index of its row, -1 if there is none
	seen []time.Time // by row: the time of the last report; zero: it is not listed
	next []*Row      // by row: the one of the next snapshot
	n    int         // rows that are listed
}

// match finds the rows of records. Most records are at the same place among those of
// their game as when the last snapshot was made. Rows of games that are called otherwise
// now, or whose names have other colour codes, are not used.
func (s *Snapshot) match(all []master.Record, rd *reader) *matches {
	m := &matches{of: make([]int32, len(all)), seen: make([]time.Time, len(s.Rows)), next: make([]*Row, len(s.Rows))}
	moved := make(map[*master.Server]int) // records at another place, and new ones
	for p := 0; p < len(all); {
		game := all[p].Game
		before := s.readOf(game, rd)
		for begin := p; p < len(all) && all[p].Game == game; p++ {
			m.of[p] = -1
			switch i := p - begin; {
			case i < len(before) && before[i].Server == all[p].Server:
				m.found(p, before[i], &all[p])
			case len(before) > 0:
				moved[all[p].Server] = p
			}
		}
	}
	if len(moved) == 0 {
		return m
	}
	for i, r := range s.Rows {
		if !m.seen[i].IsZero() {
			continue
		}
		if p, ok := moved[r.Server]; ok {
			m.found(p, r, &all[p])
		}
	}
	return m
}

func (m *matches) found(p int, r *Row, h *master.Record) {
	m.of[p], m.seen[r.at] = r.at, h.LastSeen
	m.n++
}

// readOf returns the rows of a game in the order in which its records were read, none
// if its rows cannot be used.
func (s *Snapshot) readOf(game string, rd *reader) []*Row {
	at, ok := s.spans[game]
	if g := s.game(game); !ok || rd.title(game) != g.Title || rd.colours(game) != g.Colours || rd.join(game) != g.join {
		return nil
	}
	return s.read[at[0]:at[1]]
}

// keep returns the listed rows of another snapshot with their new times, in their
// order.
func (s *Snapshot) keep(rows []*Row, m *matches) []Row {
	kept := make([]Row, 0, m.n)
	for i, r := range rows {
		if m.seen[i].IsZero() {
			continue
		}
		kept = append(kept, Row{reading: r.reading, Last: m.seen[i], lasting: true, brief: r.brief})
		m.next[i] = &kept[len(kept)-1]
		if r.text.Load() != nil {
			s.texts.Add(1)
		}
	}
	return kept
}

func pointers(rows []Row) []*Row {
	out := make([]*Row, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

// group finds the games among the sorted rows.
func (l *lister) group(s *Snapshot) {
	var titles maphash.Hash
	titles.SetSeed(l.seed)
	for from := 0; from < len(s.Rows); {
		g := ListedGame{Name: s.Rows[from].Game, Title: s.Rows[from].Title, Colours: colour.OfGame(l.catalog, s.Rows[from].Game), join: joinOf(l.catalog, s.Rows[from].Game), from: from}
		to := from
		for ; to < len(s.Rows) && s.Rows[to].Game == g.Name; to++ {
			g.Players += s.Rows[to].Count
		}
		g.to, from = to, to
		g.serial = min(l.registry.Serial(g.Name), s.serial)
		s.Players += g.Players
		s.Games = append(s.Games, g)
		maphash.WriteComparable(&titles, [5]string{g.Name, g.Title, g.Colours.String(), g.join.head, g.join.tail})
	}
	s.titles = titles.Sum64()
}

// title returns the display name of a game.
func (l *lister) title(name string) string {
	if g, ok := l.catalog.Lookup(name); ok && g.Title != "" {
		return clean.Text(g.Title)
	}
	return name
}

// game returns the servers of one name; the zero value if there are none.
func (s *Snapshot) game(name string) ListedGame {
	i, ok := slices.BinarySearchFunc(s.Games, name, func(g ListedGame, name string) int { return strings.Compare(g.Name, name) })
	if !ok {
		return ListedGame{Name: name}
	}
	return s.Games[i]
}

// Population returns the numbers of servers in the list of a game, and of their
// players.
func (s *Snapshot) Population(game string) (servers, players int) {
	add := func(g ListedGame) { servers, players = servers+g.Servers(), players+g.Players }
	for _, name := range s.sharing(game) {
		if name != game {
			add(s.game(name))
		}
	}
	add(s.game(game))
	return servers, players
}

// Shares reports whether the list of a game has servers of other names.
func (s *Snapshot) Shares(game string) bool { return s.sharing(game) != nil }

// Choose returns the rows in the list of a game (all, if game is empty) with a text in
// their name or map, in an order. The slice may be the snapshot's own.
func (s *Snapshot) Choose(game, text string, o Order) []*Row {
	rows, sharing := s.inOrder(o), s.sharing(game)
	if o == ByGame && game != "" && sharing == nil {
		g := s.game(game)
		rows, game = rows[g.from:g.to], ""
	}
	if game == "" && text == "" {
		return rows
	}
	text = strings.ToLower(text)
	var pairs grams
	pairs.add(text)
	var found []*Row
	for _, r := range rows {
		if r.brief.grams.mayHave(&pairs) && (game == "" || r.IsOf(game, sharing)) && (text == "" || r.matches(text)) {
			found = append(found, r)
		}
	}
	return found
}
