package colour

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// OfGame returns the codes of a game, None if the catalogue does not know it.
func OfGame(c *games.Catalog, name string) Family {
	g, _ := c.Lookup(name)
	f, _ := ParseFamily(g.Colours) // the catalogue has checked it
	return f
}

// OfServer returns the codes of a server whose game has a family: that one, or without one
// those of its origin.
func OfServer(origin *master.Origin, game Family) Family {
	if game != None {
		return game
	}
	f, _ := ParseFamily(origin.Colours)
	return f
}
