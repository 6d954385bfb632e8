package zanmaster

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "zandronum", Number: 3, Story: "It registered with the Zandronum master server; its address is verified.",
	Query: "zandronum", AtSource: true, Keeps: []string{zandronum.RuleEnforces, zandronum.RuleRevision, zandronum.RuleWarning},
	Catalogued: true, Colours: "doom",
}

var _ = games.Declare(games.Kind{Name: "zanmaster", Words: "the Zandronum master"})
