package utmaster

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "epic", Number: 9, Story: "It registered with the Unreal Tournament master server; its address is verified.",
	Query: "gs1", QueryRule: ruleGameSpyPort, Catalogued: true,
}

// ruleGameSpyPort is the port on which a server answers GameSpy's queries.
const ruleGameSpyPort = "gsqueryport"

var _ = games.Declare(games.Kind{Name: "utmaster", Words: "Epic's master"})
