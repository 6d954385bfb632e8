package q2master

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "quake2", Story: "It registered with the Quake 2 master server; its address is verified.", Query: "quake2",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the Quake 2 master"})
