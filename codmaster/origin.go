package codmaster

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/q3master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "callofduty", Number: 11, Story: "It registered with the Call of Duty master server; its address is verified.",
	Query: "quake3", Keeps: q3master.Keeps(), Colours: "quake",
}

var _ = games.Declare(games.Kind{Name: name, Words: "the Call of Duty master", Names: true})
