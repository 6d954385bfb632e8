package idmaster

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/idtech4"
	"github.com/respawnd/respawnd/master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "idtech4", Number: 10, Story: "It registered with the master server of Doom 3, Quake 4 and Prey; its address is verified.",
	Query: "idtech4", Keeps: []string{idtech4.RuleProtocol}, Colours: "quake",
}

var _ = games.Declare(games.Kind{Name: name, Words: "id Software's master", Names: true, Query: Origin.Query})
