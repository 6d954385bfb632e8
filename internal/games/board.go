package games

import (
	"slices"
	"strings"
)

// Limits of boards.
const (
	// MaxBoards is the maximum number of boards of a game.
	MaxBoards = 32
	// MaxBoardKeyLen bounds the key of a board in bytes.
	MaxBoardKeyLen = 64
)

// Board is a leaderboard of a game: which key of the final reports of its servers
// is the result of a player.
type Board struct {
	// Name identifies the board in its game, as the name of a game does.
	Name string
	// Title is the display name; empty: Name.
	Title string
	// Key is the key of a player without the number of the player: "kills" for
	// kills_0, kills_1.
	Key string
	// How is how the results of several matches become one.
	How BoardRule
}

// BoardRule is how the results of several matches become one.
type BoardRule string

// The rules.
const (
	BoardSum  BoardRule = "sum"  // they are added
	BoardMax  BoardRule = "max"  // the greatest one counts
	BoardLast BoardRule = "last" // the last one counts
)

// BoardRules returns all rules.
func BoardRules() []BoardRule { return []BoardRule{BoardSum, BoardMax, BoardLast} }

// checkBoards names boards by their names.
func checkBoards(boards []Board, bad func(string, ...any)) {
	if len(boards) > MaxBoards {
		bad("%d boards, at most %d are allowed", len(boards), MaxBoards)
		return
	}
	for i, b := range boards {
		name := shorten(b.Name)
		if !ValidName(b.Name) {
			bad("board %q: the name must be 1 to %d characters of a-z, 0-9, _ and -, and must not start with -", name, MaxNameLen)
		}
		if slices.ContainsFunc(boards[:i], func(other Board) bool { return other.Name == b.Name }) {
			bad("board %q is there twice", name)
		}
		if reason := textProblem(b.Title, MaxTextLen); reason != "" {
			bad("board %q: the title %s", name, reason)
		}
		switch reason := textProblem(b.Key, MaxBoardKeyLen); {
		case b.Key == "" && b.Name != "": // else one mistake is enough
			bad("board %q: the key is missing", name)
		case reason != "":
			bad("board %q: the key %s", name, reason)
		case strings.ContainsRune(b.Key, '\\'):
			bad("board %q: a backslash in the key is not allowed", name)
		}
		if !slices.Contains(BoardRules(), b.How) {
			bad("board %q: how must be one of %v", name, BoardRules())
		}
	}
}
