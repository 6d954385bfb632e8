package valvemaster

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "valve", Number: 4, Story: "It registered with the Valve-style master server.",
	Query: "a2s", Claim: master.ClaimReport, Beside: true,
}

var _ = games.Declare(games.Kind{Name: "valvemaster", Words: "the Valve-style master"})
