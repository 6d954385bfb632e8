package games

import "strings"

// Board is a leaderboard of a game: which key of the final reports of its servers
// is the result of a player.
type Board struct {
	// As it is stored and asked for: 1 to 31 characters of a-z, 0-9, _ and -.
	Name string `yaml:"name,required" as:"name"`
	// Display name; the name without it.
	Title string `yaml:"title" as:"text"`
	// Key of a player in the report, without _0, _1 ...; the name without it. With elo, a
	// number of a key of matches that are reported to the web services: those count that
	// have it and not 0.
	Key string `yaml:"key,or=name" as:"text" max:"64"`
	// How the results of several matches become one. elo: a rating of players, which begins
	// at 1200.
	How BoardRule `yaml:"how,required" words:"sum, max, last, elo"`
}

// BoardRule is how the results of several matches become one.
type BoardRule string

// The rules.
const (
	BoardSum  BoardRule = "sum"  // they are added
	BoardMax  BoardRule = "max"  // the greatest one counts
	BoardLast BoardRule = "last" // the last one counts
	BoardElo  BoardRule = "elo"  // players win and lose points to each other
)

func (b *Board) rules(bad func(string, ...any)) {
	if strings.ContainsRune(b.Key, '\\') {
		bad("a backslash in the key is not allowed")
	}
}
