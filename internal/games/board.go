package games

import "strings"

// Board is a leaderboard of a game: which key of the final reports of its servers
// is the result of a player.
type Board struct {
	// As it is stored and asked for: 1 to 31 characters of a-z, 0-9, _ and -.
	Name string `yaml:"name,required" as:"name"`
	// Display name; the name without it.
	Title string `yaml:"title" as:"text"`
	// Key of a player in the report, without _0, _1 ...; the name without it.
	Key string `yaml:"key,or=name" as:"text" max:"64"`
	// How the results of several matches become one.
	How BoardRule `yaml:"how,required" words:"sum, max, last"`
}

// BoardRule is how the results of several matches become one.
type BoardRule string

// The rules.
const (
	BoardSum  BoardRule = "sum"  // they are added
	BoardMax  BoardRule = "max"  // the greatest one counts
	BoardLast BoardRule = "last" // the last one counts
)

func (b *Board) rules(bad func(string, ...any)) {
	if strings.ContainsRune(b.Key, '\\') {
		bad("a backslash in the key is not allowed")
	}
}
