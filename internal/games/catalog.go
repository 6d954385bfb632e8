package games

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Catalog is the set of known games. Any number of goroutines may read it while
// another replaces its content; readers take no lock. The zero value is an
// empty catalogue.
type Catalog struct {
	current atomic.Pointer[index]
}

// index is one state of the catalogue; it never changes once it is published.
type index struct {
	games  []Game           // sorted by name
	byName map[string]*Game // into games
	byRoom map[uint32]roomAt
	base   map[string]*Game // by alias: the game that it is a name of
	hidden []HiddenRoom
	files  []fileOf
	epic   epicIndex

	quick    []int                    // into games: those with a QuickMatch
	bots     map[uint32]bool          // their profiles
	botNicks map[string]bool          // their nicks in lower case
	quake3   map[Service]*Quake3Index // by service, see quake3Master
}

type roomAt struct {
	game *Game
	room int
}

// NewCatalog returns a catalogue of the layers; see [Catalog.Replace].
func NewCatalog(layers ...[]Game) (*Catalog, error) {
	c := new(Catalog)
	if err := c.Replace(layers...); err != nil {
		return nil, err
	}
	return c, nil
}

// Replace makes the layers, the lowest first, the whole content of the
// catalogue. A record of a game that a lower layer has too changes only the
// fields it states: secrets and rooms as whole lists, the policy switch by
// switch, everything else value by value. The layers are copied, but for the lists of built-in
// records, which are not checked either.
//
// If any record is invalid, the catalogue does not change and the *InvalidError
// names all bad records. A game may occur once in a layer, a room id once in
// all.
func (c *Catalog) Replace(layers ...[]Game) error { return c.ReplaceBeside(nil, layers...) }

// ReplaceBeside is Replace for a catalogue beside rooms that are kept
// elsewhere, given by id with the game that each belongs to. They have priority
// over built-in rooms.
func (c *Catalog) ReplaceBeside(rooms map[uint32]string, layers ...[]Game) error {
	next, err := build(layers, rooms)
	if err != nil {
		return err
	}
	c.current.Store(next)
	return nil
}

// Take makes the content of another catalogue the content of c. Both share it.
func (c *Catalog) Take(other *Catalog) { c.current.Store(other.current.Load()) }

// Lookup returns the game of that name, in whatever case it is written. It does
// not allocate. The slices of the game are shared: do not change them.
func (c *Catalog) Lookup(name string) (Game, bool) { return lookup(c, name) }

// LookupBytes is Lookup for a name that lies in a packet. It does not keep name.
func (c *Catalog) LookupBytes(name []byte) (Game, bool) { return lookup(c, name) }

func lookup[T string | []byte](c *Catalog, name T) (Game, bool) {
	idx := c.current.Load()
	if idx == nil || len(name) > MaxNameLen {
		return Game{}, false
	}
	var folded [MaxNameLen]byte
	g, ok := idx.byName[string(fold(folded[:0], name))]
	if !ok {
		return Game{}, false
	}
	return *g, true
}

// fold appends a name in lower case.
func fold[T string | []byte](dst []byte, name T) []byte {
	for i := range len(name) { // faster than ascii.AppendLower
		dst = append(dst, ascii.Lower(name[i]))
	}
	return dst
}

// All returns the games sorted by name. The slice is the caller's, the slices
// inside the games are shared.
func (c *Catalog) All() []Game {
	idx := c.current.Load()
	if idx == nil {
		return nil
	}
	return slices.Clone(idx.games)
}

// Each yields the games sorted by name. They are shared: do not change them.
func (c *Catalog) Each() iter.Seq[*Game] {
	return func(yield func(*Game) bool) {
		idx := c.current.Load()
		for i := 0; idx != nil && i < len(idx.games); i++ {
			if !yield(&idx.games[i]) {
				return
			}
		}
	}
}

// Len returns the number of games.
func (c *Catalog) Len() int {
	idx := c.current.Load()
	if idx == nil {
		return 0
	}
	return len(idx.games)
}

// Room returns the group room with that id and the game it belongs to. The rooms
// of one game are in [Game].Rooms.
func (c *Catalog) Room(id uint32) (Room, Game, bool) {
	idx := c.current.Load()
	if idx == nil {
		return Room{}, Game{}, false
	}
	at, ok := idx.byRoom[id]
	if !ok {
		return Room{}, Game{}, false
	}
	return at.game.Rooms[at.room], *at.game, true
}

// Base returns the game that name is an alias of, or the game of that name. false:
// there is no such game. An alias may have no record of its own.
func (c *Catalog) Base(name string) (Game, bool) { return base(c, name) }

// BaseBytes is Base for a name that lies in a packet. It does not keep name, and
// does not allocate.
func (c *Catalog) BaseBytes(name []byte) (Game, bool) { return base(c, name) }

func base[T string | []byte](c *Catalog, name T) (Game, bool) {
	if idx := c.current.Load(); idx != nil && len(name) <= MaxNameLen {
		var folded [MaxNameLen]byte
		if g, alias := idx.base[string(fold(folded[:0], name))]; alias {
			return *g, true
		}
	}
	return lookup(c, name)
}

// Same reports whether two names are names of one game.
func (c *Catalog) Same(a, b string) bool {
	ga, known := c.Base(a)
	gb, too := c.Base(b)
	if known && too {
		return ga.Name == gb.Name
	}
	return ascii.ToLower(a) == ascii.ToLower(b)
}

// SharedLists returns the games whose servers are in one list: of each such list the
// name of the game, then its aliases.
func (c *Catalog) SharedLists() (lists [][]string) {
	idx := c.current.Load()
	if idx == nil {
		return nil
	}
	for i := range idx.games {
		if g := &idx.games[i]; g.SharedList && len(g.Aliases) > 0 {
			lists = append(lists, append([]string{g.Name}, g.Aliases...))
		}
	}
	return lists
}

// HiddenRoom is a room of the built-in list that is left out, because a room of the
// operator has its id.
type HiddenRoom struct {
	Room  Room
	Game  string // to which the built-in room belongs
	Other string // to which the operator's room belongs
}

// HiddenRooms returns the rooms that are left out. The slice is shared.
func (c *Catalog) HiddenRooms() []HiddenRoom {
	if idx := c.current.Load(); idx != nil {
		return idx.hidden
	}
	return nil
}

// build merges the layers and checks every record and the result.
func build(layers [][]Game, beside map[uint32]string) (*index, error) {
	var probs problems
	most := 0
	for _, layer := range layers {
		if len(layer) > MaxRecords {
			return nil, fmt.Errorf("%w: %d, at most %d are allowed", ErrTooManyRecords, len(layer), MaxRecords)
		}
		most += len(layer)
	}
	m := merger{games: make([]Game, 0, most), layers: make([]int, 0, most), at: make(map[string]int, most), ownRooms: make(map[string]bool)}
	for n, layer := range layers {
		for i := range layer {
			m.add(n, &layer[i], &probs)
		}
	}
	idx := newIndex(m.games, rooms{beside, m.ownRooms}, &probs)
	return idx, probs.err()
}

// merger joins the records of each game.
type merger struct {
	games    []Game         // in the order of their first records
	layers   []int          // of the last record of each game
	at       map[string]int // by name: into games
	ownRooms map[string]bool
}

// add adds a copy of a record of layer n, over those of the layers below, if it is valid. A built-in
// record is neither checked nor copied deeply: a test checks it, and it is read for the catalogue alone.
func (m *merger) add(n int, record *Game, probs *problems) {
	last := len(m.games)
	m.games = append(m.games, *record)
	g := &m.games[last]
	valid := true
	if g.Source.Origin != FromEmbedded {
		g.unshare()
		g.Name = ascii.ToLower(g.Name)
		valid = g.check(probs)
	}
	i, known := m.at[g.Name]
	if known && valid && m.layers[i] == n {
		probs.add(g.Source, g.Name, "already in %s", m.games[i].Source)
		valid = false
	}
	if valid && (len(g.Rooms) > 0 || g.Given&FieldsOf("rooms") != 0) {
		m.ownRooms[g.Name] = g.Source.Origin > FromEmbedded
	}
	switch {
	case valid && !known:
		m.at[g.Name], m.layers = last, append(m.layers, n)
		return
	case valid:
		m.games[i], m.layers[i] = m.games[i].overlay(*g), n
	}
	m.games = m.games[:last]
}

// newIndex sorts the games, which become its own, fills in defaults, and rejects
// rooms and aliases that two records have. A built-in room gives way to one of the
// operator.
func newIndex(list []Game, whose rooms, probs *problems) *index {
	idx := &index{
		games:  list,
		byName: make(map[string]*Game, len(list)),
		byRoom: make(map[uint32]roomAt),
		base:   make(map[string]*Game),
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name }) // copies no games to compare them
	for i := range list {
		g := &list[i]
		if g.QueryPort == 0 {
			g.QueryPort = DefaultQueryPort
		}
		g.Given = 0
		g.needOfEditions()
		idx.byName[g.Name] = g
	}
	idx.addRooms(probs, whose, true)
	idx.addRooms(probs, whose, false)
	idx.addAliases(probs)
	for i := range list {
		list[i].See = idx.seeOf(&list[i])
	}
	idx.addFiles()
	idx.addQuickMatches(probs)
	idx.epic = newEpicIndex(list)
	idx.quake3 = quake3Indexes(list)
	return idx
}

// rooms records which rooms are the operator's.
type rooms struct {
	beside map[uint32]string // by id: the game of a room that is not part of the layers
	own    map[string]bool   // games whose rooms are the operator's
}

// addRooms adds the rooms of the games whose rooms are the operator's, or of
// the others.
func (idx *index) addRooms(probs *problems, whose rooms, own bool) {
	for i := range idx.games {
		g := &idx.games[i]
		if len(g.Rooms) == 0 || whose.own[g.Name] != own {
			continue
		}
		kept := make([]Room, 0, len(g.Rooms))
		for _, r := range g.Rooms {
			other, taken := idx.byRoom[r.ID]
			game, beside := whose.beside[r.ID]
			switch {
			case beside && !own:
				idx.hidden = append(idx.hidden, HiddenRoom{Room: r, Game: g.Name, Other: game})
				continue
			case taken && !own && whose.own[other.game.Name]:
				idx.hidden = append(idx.hidden, HiddenRoom{Room: r, Game: g.Name, Other: other.game.Name})
				continue
			case taken:
				probs.add(g.Source, g.Name, "room %d: the id belongs to a room of game %q in %s", r.ID, other.game.Name, other.game.Source)
				continue
			}
			idx.byRoom[r.ID] = roomAt{game: g, room: len(kept)}
			kept = append(kept, r)
		}
		g.Rooms = kept
	}
}

// addAliases checks the aliases, and gives them the facts of their game. None is
// available while its game is not.
func (idx *index) addAliases(probs *problems) {
	for i := range idx.games {
		g := &idx.games[i]
		for _, name := range g.Aliases {
			alias, known := idx.byName[name]
			switch other := idx.base[name]; {
			case other != nil:
				probs.add(g.Source, g.Name, "the alias %s is one of game %q in %s already", name, other.Name, other.Source)
				continue
			case known && len(alias.Aliases) > 0:
				probs.add(g.Source, g.Name, "the alias %s has aliases of its own in %s", name, alias.Source)
				continue
			case known && alias.SharedList:
				probs.add(g.Source, g.Name, "the alias %s has shared_list in %s: it belongs to the record that names the aliases", name, alias.Source)
				continue
			}
			idx.base[name] = g
			if known {
				alias.inherit(g)
				alias.Maintenance = alias.Maintenance || g.Maintenance
				alias.DisabledServices |= g.DisabledServices
			}
		}
	}
}

// union returns a followed by the strings of b that it lacks, as a new slice.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
