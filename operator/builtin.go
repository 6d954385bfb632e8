package operator

import (
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
)

// BuiltIn returns the games that are part of the program.
func BuiltIn() games.Embedded {
	return games.Embedded{Games: configs.GameTable, Rooms: configs.RoomTable, Facts: configs.Games, Editions: configs.EditionTable}
}
