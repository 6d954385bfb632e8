package q3master

import (
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/master"
)

// Origin is that of the servers that register here.
var Origin = &master.Origin{
	Name: "quake3", Number: 7, Story: "It registered with the Quake 3 master server; its address is verified.",
	Query: "quake3", Keeps: Keeps(), Colours: "quake",
}

// Keeps are the rules that reports in Quake III's form set, see *master.Origin.
func Keeps() []string { return []string{quake3.RuleGame, quake3.RuleTag, quake3.RuleProtocol} }

var _ = games.Declare(games.Kind{Name: "q3master", Words: "the Quake 3 master"})
