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

// OfServer returns the codes of a server whose game has a family: that one, with
// Zandronum's protocol those of Doom, and with Quake III's, if the game has none, those
// of Quake.
func OfServer(origin master.Origin, game Family) Family {
	switch {
	case origin == master.FromZandronum:
		return Doom
	case (origin == master.FromQuake3 || origin == master.FromCallOfDuty || origin == master.FromIDTech4) && game == None:
		return Quake
	default:
		return game
	}
}
