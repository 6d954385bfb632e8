package web

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// maxAge is how long a snapshot serves although the list did not change: the
// times at which servers were last heard move on.
const maxAge = time.Second

// snapshot is the list as it was at one moment, in the order in which it is
// given out, with the answers that were written from it. Only orders and answers change.
type snapshot struct {
	serial  uint64    // of the registry; the rows are at least this new
	begun   time.Time // when reading the registry began
	titles  uint64    // changes when the title of a listed game does
	rows    []*row    // by game, players (most first), address
	games   []listedGame
	players int // in all

	orders  orders
	answers answers
}

// listedGame is a game that has servers.
type listedGame struct {
	name, title string
	from, to    int // its rows
	players     int
}

func (g listedGame) servers() int { return g.to - g.from }

// row is a listed server with what answers need of it more than once.
type row struct {
	master.Heard
	slots      *slots
	title      string
	name, area string // cleaned host and map name
	players    int
	maxPlayers int
}

// slots are the places of the rules that have a meaning here, for all servers
// that report the same names. -1: not reported.
type slots struct {
	host, area, kind, max, password, port int
}

func newSlots(names *master.Names) *slots {
	find := func(name string) int {
		if i, ok := names.Index(name); ok {
			return i
		}
		return -1
	}
	return &slots{
		host: find("hostname"), area: find("mapname"), kind: find("gametype"),
		max: find("maxplayers"), password: find("password"), port: find("hostport"),
	}
}

// rule returns the value in a slot, "" if the server has none.
func (r *row) rule(slot int) string {
	if slot < 0 {
		return ""
	}
	return r.Rules.Value(slot)
}

// gamePort returns the port that players connect to, 0 if the server names none.
func (r *row) gamePort() uint16 {
	n, err := strconv.ParseUint(strings.TrimSpace(r.rule(r.slots.port)), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// password reports whether the server says that it asks for one.
func (r *row) password() bool {
	v := strings.TrimSpace(r.rule(r.slots.password))
	switch strings.ToLower(v) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(v)
	return err == nil && n != 0
}

// matches reports whether the name or the map has the text, which is in lower case.
func (r *row) matches(lower string) bool {
	return strings.Contains(strings.ToLower(r.name), lower) || strings.Contains(strings.ToLower(r.area), lower)
}

// lister hands out snapshots. It keeps the last one.
type lister struct {
	registry *master.Registry
	catalog  *games.Catalog
	seed     maphash.Seed

	building sync.Mutex // held while a snapshot is made: one at a time
	current  atomic.Pointer[snapshot]
}

// now returns a snapshot that has every change made before the call. Callers
// that come while one is being made wait for it and share the next.
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

// gameSerial returns the serial of the last change of a game's list, of the whole
// list if game is empty.
func (l *lister) gameSerial(game string) uint64 {
	if game == "" {
		return l.registry.LastSerial()
	}
	return l.registry.Serial(game)
}

// build reads the registry and the catalogue.
func (l *lister) build() *snapshot {
	s := &snapshot{begun: time.Now(), serial: l.registry.LastSerial()}
	heard := l.registry.All()
	rows := make([]row, len(heard))
	s.rows = make([]*row, len(heard))
	known := make(map[*master.Names]*slots)
	for i, h := range heard {
		names := h.Rules.Names()
		sl := known[names]
		if sl == nil {
			sl = newSlots(names)
			known[names] = sl
		}
		rows[i].fill(h, sl)
		s.rows[i] = &rows[i]
	}
	slices.SortFunc(s.rows, compareRows)
	l.group(s)
	return s
}

// fill reads what a server says about itself.
func (r *row) fill(h master.Heard, sl *slots) {
	r.Heard, r.slots = h, sl
	r.name = clean.Text(r.rule(sl.host))
	r.area = clean.Text(r.rule(sl.area))
	r.players = h.Population()
	r.maxPlayers, _ = master.ParsePopulation(r.rule(sl.max))
}

// group finds the games among the sorted rows and gives the rows their titles.
func (l *lister) group(s *snapshot) {
	var titles maphash.Hash
	titles.SetSeed(l.seed)
	for from := 0; from < len(s.rows); {
		g := listedGame{name: s.rows[from].Game, from: from}
		g.title = l.title(g.name)
		to := from
		for ; to < len(s.rows) && s.rows[to].Game == g.name; to++ {
			s.rows[to].title = g.title
			g.players += s.rows[to].players
		}
		g.to, from = to, to
		s.players += g.players
		s.games = append(s.games, g)
		maphash.WriteComparable(&titles, [2]string{g.name, g.title})
	}
	s.titles = titles.Sum64()
}

// title returns what people call a game.
func (l *lister) title(name string) string {
	if g, ok := l.catalog.Lookup(name); ok && g.Title != "" {
		return clean.Text(g.Title)
	}
	return name
}

// game returns a game of the list; the zero value if it has no servers.
func (s *snapshot) game(name string) listedGame {
	i, ok := slices.BinarySearchFunc(s.games, name, func(g listedGame, name string) int { return strings.Compare(g.name, name) })
	if !ok {
		return listedGame{name: name}
	}
	return s.games[i]
}

// choose returns the rows of a game (all, if game is empty) with a text in their
// name or map, in an order. The slice may be the snapshot's own.
func (s *snapshot) choose(game, text string, o order) []*row {
	rows := s.inOrder(o)
	if o == byGame && game != "" {
		g := s.game(game)
		rows, game = rows[g.from:g.to], ""
	}
	if game == "" && text == "" {
		return rows
	}
	text = strings.ToLower(text)
	var found []*row
	for _, r := range rows {
		if (game == "" || r.Game == game) && (text == "" || r.matches(text)) {
			found = append(found, r)
		}
	}
	return found
}
