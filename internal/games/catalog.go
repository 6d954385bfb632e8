package games

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Catalog is the set of games that the daemon knows. Any number of goroutines may
// read it while another replaces its content; readers take no lock. The zero value
// is an empty catalogue.
type Catalog struct {
	current atomic.Pointer[index]
}

// index is one state of the catalogue; it never changes once it is published.
type index struct {
	games  []Game           // sorted by name
	byName map[string]*Game // into games
	byRoom map[uint32]roomAt
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

// Replace makes the layers, the lowest first, the whole content of the catalogue.
// A record of a game that a lower layer has too changes only the fields it states:
// secrets and rooms as whole lists, the policy switch by switch, everything else
// value by value. The layers are copied and stay the caller's.
//
// If anything is wrong, the catalogue stays as it is and the *InvalidError names
// all bad records. A game may occur once in a layer, a room id once in all.
func (c *Catalog) Replace(layers ...[]Game) error {
	next, err := build(layers)
	if err != nil {
		return err
	}
	c.current.Store(next)
	return nil
}

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
	for i := range len(name) { // faster than ascii.AppendLower
		folded[i] = ascii.Lower(name[i])
	}
	g, ok := idx.byName[string(folded[:len(name)])]
	if !ok {
		return Game{}, false
	}
	return *g, true
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

// Additions returns what list, usually an imported one, adds to the catalogue, as
// records for a higher layer. A game that the catalogue lacks comes as it is. Of a
// game that it has only new secrets come, behind the known ones, and an id or a
// title if none is known: such lists are older and shorten long secrets, so they
// must not decide which secret is preferred. Secrets beyond MaxSecrets are left out.
func (c *Catalog) Additions(list []Game) []Game {
	var out []Game
	for _, g := range list {
		known, ok := c.Lookup(g.Name)
		if !ok {
			out = append(out, g.clone())
			continue
		}
		add := Game{Name: known.Name, Source: g.Source}
		if known.Title == "" {
			add.Title = g.Title
		}
		if known.ID == 0 {
			add.ID = g.ID
		}
		all := union(known.Secrets, g.Secrets)
		if all = all[:min(len(all), MaxSecrets)]; len(all) > len(known.Secrets) {
			add.Secrets = all
		}
		if add.Title != "" || add.ID != 0 || add.Secrets != nil {
			out = append(out, add)
		}
	}
	return out
}

// build merges the layers and checks every record and the result.
func build(layers [][]Game) (*index, error) {
	var probs problems
	merged := make(map[string]Game)
	for _, layer := range layers {
		if len(layer) > MaxRecords {
			return nil, fmt.Errorf("%w: %d, at most %d are allowed", ErrTooManyRecords, len(layer), MaxRecords)
		}
		inLayer := make(map[string]Source, len(layer))
		for _, g := range layer {
			g = g.clone()
			g.Name = ascii.ToLower(g.Name)
			if !g.check(&probs) {
				continue
			}
			if first, twice := inLayer[g.Name]; twice {
				probs.add(g.Source, g.Name, "already in %s", first)
				continue
			}
			inLayer[g.Name] = g.Source
			if below, ok := merged[g.Name]; ok {
				g = below.overlay(g)
			}
			merged[g.Name] = g
		}
	}
	idx := newIndex(merged, &probs)
	return idx, probs.err()
}

// newIndex sorts the games, fills in defaults and refuses room ids used twice.
func newIndex(merged map[string]Game, probs *problems) *index {
	idx := &index{
		games:  make([]Game, 0, len(merged)),
		byName: make(map[string]*Game, len(merged)),
		byRoom: make(map[uint32]roomAt),
	}
	for _, g := range merged {
		if g.QueryPort == 0 {
			g.QueryPort = DefaultQueryPort
		}
		g.Given = 0
		idx.games = append(idx.games, g)
	}
	slices.SortFunc(idx.games, func(a, b Game) int { return strings.Compare(a.Name, b.Name) })
	for i := range idx.games {
		g := &idx.games[i]
		idx.byName[g.Name] = g
		for n, r := range g.Rooms {
			if other, taken := idx.byRoom[r.ID]; taken {
				probs.add(g.Source, g.Name, "room %d: the id belongs to a room of game %q in %s", r.ID, other.game.Name, other.game.Source)
				continue
			}
			idx.byRoom[r.ID] = roomAt{game: g, room: n}
		}
	}
	return idx
}

// union returns a with the strings of b that it lacks behind it, as a new slice.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
