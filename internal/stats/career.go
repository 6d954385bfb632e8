package stats

import (
	"slices"
	"strconv"

	"github.com/respawnd/respawnd/internal/games"
)

// Mode is a kind of match of EA's games whose results count apart.
type Mode struct {
	Name       string  // begins the names of the boards that count its results
	Key        uint16  // of a match that is one, where it is not 0
	Experience float64 // for a win
}

// CareerBoard counts the experience of players in all modes. It is not in the catalogue.
const CareerBoard = "experience"

// SecondsBoard is behind the name of a mode on the board of the time that matches took.
const SecondsBoard = "-seconds"

// The numbers of keys of a match, beside that of the first rated mode: unranked matches are just
// before it.
const secondsBefore = 12

// Experience of wins, as public servers of these games have it.
const (
	unrankedExperience = 1
	rankedExperience   = 2
	clanExperience     = 5
)

// ModesOf returns the modes of a game, and the key of the seconds that a match took: an unranked one, and
// those of its boards with ratings, of which the first two are not of clans. A game without
// such boards has none.
func ModesOf(boards []games.Board) (modes []Mode, seconds uint16) {
	for i := range boards {
		b := &boards[i]
		key, err := strconv.ParseUint(b.Key, 10, 16)
		if b.How != games.BoardElo || err != nil || key <= secondsBefore {
			continue
		}
		if modes == nil {
			modes, seconds = append(modes, Mode{"unranked", uint16(key) - 1, unrankedExperience}), uint16(key)-secondsBefore
		}
		gain := float64(rankedExperience)
		if len(modes) > 2 {
			gain = clanExperience
		}
		modes = append(modes, Mode{b.Name, uint16(key), gain})
	}
	return modes, seconds
}

// Levels are the experience that each level of a player needs, from level 1.
var Levels = []int64{
	0, 5, 13, 23, 35, 50, 67, 86, 106, 127, 150, 175, 202, 231, 262, 295, 330, 367, 406, 447, 490, 535, 582, 631, 682, 735, 790, 847, 906, 967,
	1030, 1095, 1162, 1231, 1302, 1375, 1454, 1538, 1628, 1724, 1825, 1927, 2030, 2134, 2239, 2345, 2452, 2560, 2674, 2794, 2920, 3049, 3180,
	3314, 3451, 3590, 3738, 3894, 4058, 4230, 4410, 4595, 4784, 4978, 5177, 5380, 5590, 5807, 6031, 6262, 6500, 6744, 6993, 7247, 7506, 7770,
	8044, 8328, 8622, 8926, 9240, 9562, 9890, 10224, 10564, 10910, 11310,
}

// LevelOf returns the level of a player with so much experience.
func LevelOf(experience float64) int {
	i, reached := slices.BinarySearch(Levels, int64(max(experience, 0)))
	if reached {
		i++
	}
	return i
}
