package q3master

import (
	"slices"

	"github.com/respawnd/respawnd/internal/ascii"
)

// Reload applies the live keys at once. Listed servers stay, but those of games
// that are no longer listed. Budgets begin full.
func (s *Server) Reload(c *Config) {
	s.live.Store(c)
	s.Keeper.Reload(c.Config, c.ListConfig, c.MaxGames)
}

// allows reports whether servers of a game are listed: game is its name in the
// list of servers, name that in the protocol.
func (c *Config) allows(game, name string) bool {
	return len(c.Games) == 0 || slices.ContainsFunc(c.Games, func(g string) bool {
		return ascii.EqualFold(g, game) || ascii.EqualFold(g, name)
	})
}
