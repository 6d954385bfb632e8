package serverbrowse

import (
	"maps"
	"slices"
	"strings"

	"github.com/respawnd/respawnd/master"
)

// Bounds of a player search.
const (
	maxFound      = 50      // answers
	maxSearchRows = 200_000 // players that are looked at
)

// playerColumn is the column of the player table that holds names.
const playerColumn = "player_"

// search finds players on listed servers by name. game is the game of the
// connection.
func search(reg *master.Registry, game string, q PlayerSearch) []FoundPlayer {
	most := maxFound
	if q.Max > 0 {
		most = int(min(q.Max, maxFound))
	}
	where := []string{game}
	if q.Options&SearchAllGames != 0 {
		where = slices.Sorted(maps.Keys(reg.Counts()))
	}
	wanted := master.FoldName(q.Name)
	rows := 0
	var found []FoundPlayer
	for _, g := range where {
		for s := range reg.List(g) {
			column, ok := s.Players.Names().Index(playerColumn)
			if !ok || !shown(s) {
				continue
			}
			for r := range s.Players.Rows() {
				if rows++; rows > maxSearchRows {
					return found
				}
				name := s.Players.Value(r, column)
				if !q.Options.matches(master.FoldName(name), wanted) {
					continue
				}
				found = append(found, FoundPlayer{name, s.Public, uint32(s.Seen.Unix()), s.Game})
				if len(found) == most {
					return found
				}
			}
		}
	}
	return found
}

// matches compares two names in lower case.
func (o SearchOption) matches(name, wanted string) bool {
	switch {
	case o&SearchSubstring != 0:
		return strings.Contains(name, wanted)
	case o&SearchPrefix != 0 && strings.HasPrefix(name, wanted):
		return true
	case o&SearchSuffix != 0 && strings.HasSuffix(name, wanted):
		return true
	}
	return name == wanted
}
