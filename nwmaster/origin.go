package nwmaster

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "nwn", Number: 12, Story: "It registered with the Neverwinter Nights master server, and answered a question to another port.",
	Query: "nwn",
}

var _ = games.Declare(games.Kind{Name: name, Words: "BioWare's account check", Names: true, Query: Origin.Query})
