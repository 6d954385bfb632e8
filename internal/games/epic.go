package games

import "slices"

// Epic is how clients and servers of a game sign in to a master in the form of
// Epic's.
type Epic struct {
	// Before CLIENT and SERVER; missing: nothing, or a word that no game has.
	Word string `yaml:"word" as:"capitals" max:"32"`
	// The least and the greatest version of the game.
	Versions [2]int `yaml:"versions,required" range:"1 to 1048576"`
}

func (e *Epic) rules(bad func(string, ...any)) {
	if e.Versions[0] > e.Versions[1] {
		bad("the least of the versions comes first")
	}
}

// epicIndex finds games by how they sign in to a master in the form of Epic's. It is
// part of a catalogue and never changes.
type epicIndex []epicOf

// epicOf is a way of a game.
type epicOf struct {
	game *Game
	Epic
}

// Epic returns the game whose clients and servers sign in with a word before their role
// and a version: of a word that no game with the version has, the one that states no
// word. known is false if there is none.
func (c *Catalog) Epic(word string, version int) (g Game, known bool) {
	idx := c.current.Load()
	if idx == nil {
		return Game{}, false
	}
	for _, want := range []string{word, ""} {
		for _, e := range idx.epic {
			if e.Word == want && version >= e.Versions[0] && version <= e.Versions[1] {
				return *e.game, true
			}
		}
	}
	return Game{}, false
}

// newEpicIndex indexes the games, those with the fewest versions first.
func newEpicIndex(list []Game) (x epicIndex) {
	for i := range list {
		for _, e := range list[i].Epic {
			x = append(x, epicOf{&list[i], e})
		}
	}
	slices.SortStableFunc(x, func(a, b epicOf) int { return (a.Versions[1] - a.Versions[0]) - (b.Versions[1] - b.Versions[0]) })
	return x
}
