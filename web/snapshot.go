package web

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/views"
)

// snapshot is the list as it was at one moment, in the order in which it is
// given out, with the answers that were written from it. Only texts, orders and
// answers change.
type snapshot struct {
	begun   time.Time // when reading the registry began
	titles  uint64    // changes when the title of a listed game does
	rows    []*row    // by game, players (most first), address
	games   []listedGame
	players int // in all

	texts atomic.Int64 // how many of the rows have theirs

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

// row is a server of a snapshot.
type row struct {
	*reading
	Last    time.Time // when it was heard last
	lasting bool      // the snapshot before had the same reading
}

// lister hands out snapshots.
type lister struct {
	registry *master.Registry
	catalog  *games.Catalog
	seed     maphash.Seed
	latest   *views.Latest[snapshot]
}

func newLister(r *master.Registry, c *games.Catalog) *lister {
	l := &lister{registry: r, catalog: c, seed: maphash.MakeSeed()}
	l.latest = views.NewLatest(r.LastSerial, l.build)
	return l
}

// now returns a snapshot that has every change made before the call.
func (l *lister) now() *snapshot { return l.latest.Now() }

// gameSerial returns the serial of the last change of a game's list, of the whole
// list if game is empty.
func (l *lister) gameSerial(game string) uint64 {
	if game == "" {
		return l.registry.LastSerial()
	}
	return l.registry.Serial(game)
}

// build reads the registry and the catalogue. Of records that the last snapshot
// has, too, nothing is read again, and their rows are not sorted again. last may
// be nil.
func (l *lister) build(last *snapshot) *snapshot {
	s := &snapshot{begun: time.Now()}
	all := l.registry.All()
	rd := newReader(l) // the only one who asks for titles: those of a game must not differ
	var kept []row
	var left map[*master.Server]time.Time // records that are not kept
	if last != nil {
		left = make(map[*master.Server]time.Time, len(all))
		for _, h := range all {
			left[h.Server] = h.Last
		}
		kept = s.keep(last.titled(rd.title), left)
	}
	fresh := make([]row, 0, len(all)-len(kept))
	for _, h := range all { // in an order that is kind to memory, other than that of left
		if _, ok := left[h.Server]; ok || len(kept) == 0 {
			fresh = append(fresh, row{reading: rd.read(h.Server), Last: h.Last})
		}
	}
	s.rows = merged(pointers(kept), sorted(pointers(fresh), false, byGame.key))
	l.group(s)
	return s
}

// keep returns those rows of another snapshot of which the records are left, with
// the times at which they were heard, and takes them out of what is left.
func (s *snapshot) keep(rows []*row, left map[*master.Server]time.Time) []row {
	kept := make([]row, 0, len(rows))
	for _, r := range rows {
		at, ok := left[r.Server]
		if !ok {
			continue
		}
		delete(left, r.Server)
		kept = append(kept, row{reading: r.reading, Last: at, lasting: true})
		if r.text.Load() != nil {
			s.texts.Add(1)
		}
	}
	return kept
}

func pointers(rows []row) []*row {
	out := make([]*row, len(rows))
	for i := range rows {
		out[i] = &rows[i]
	}
	return out
}

// titled returns the rows of the games that are still called as they were.
func (s *snapshot) titled(title func(string) string) []*row {
	rows := make([]*row, 0, len(s.rows))
	for _, g := range s.games {
		if title(g.name) == g.title {
			rows = append(rows, s.rows[g.from:g.to]...)
		}
	}
	return rows
}

// group finds the games among the sorted rows.
func (l *lister) group(s *snapshot) {
	var titles maphash.Hash
	titles.SetSeed(l.seed)
	for from := 0; from < len(s.rows); {
		g := listedGame{name: s.rows[from].Game, title: s.rows[from].title, from: from}
		to := from
		for ; to < len(s.rows) && s.rows[to].Game == g.name; to++ {
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
