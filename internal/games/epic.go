package games

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Epic is how clients and servers of a game sign in to a master in the form of
// Epic's.
type Epic struct {
	// Word stands before CLIENT and SERVER in the role, capitals and digits, at most
	// MaxEpicWord. Empty: nothing does, or a word that no game has.
	Word string
	// Least and Most are the versions of the game, 1 to MaxEpicVersion.
	Least, Most int
}

// Bounds of Epic.
const (
	MaxEpic        = 8 // per game
	MaxEpicWord    = 32
	MaxEpicVersion = 1 << 20
)

// epicIndex finds games by how they sign in to a master in the form of Epic's. It is
// part of a catalogue and never changes.
type epicIndex []epicOf

// epicOf is a way of a game.
type epicOf struct {
	game *Game
	Epic
}

// Epic returns the game whose clients and servers sign in with a word before their role
// and a version: of a word that no game with the version has, the one that states no
// word. known is false if there is none.
func (c *Catalog) Epic(word string, version int) (g Game, known bool) {
	idx := c.current.Load()
	if idx == nil {
		return Game{}, false
	}
	for _, want := range []string{word, ""} {
		for _, e := range idx.epic {
			if e.Word == want && version >= e.Least && version <= e.Most {
				return *e.game, true
			}
		}
	}
	return Game{}, false
}

// newEpicIndex indexes the games, those with the fewest versions first.
func newEpicIndex(list []Game) (x epicIndex) {
	for i := range list {
		for _, e := range list[i].Epic {
			x = append(x, epicOf{&list[i], e})
		}
	}
	slices.SortStableFunc(x, func(a, b epicOf) int { return (a.Most - a.Least) - (b.Most - b.Least) })
	return x
}

// String describes the way for comparisons and messages.
func (e Epic) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d-%d", e.Word, e.Least, e.Most))
}

// epic reads how a game signs in to a master in the form of Epic's.
func (y *yamlReader) epic(k, n *yaml.Node) (out []Epic) {
	for _, item := range y.items(k, n) {
		var e Epic
		y.eachKey(item, func(key string, k, v *yaml.Node) {
			switch key {
			case "word":
				e.Word = y.text(k, v)
			case "versions":
				list := y.items(k, v)
				if len(list) != 2 {
					y.bad(k, "epic: versions must be the least and the greatest, such as [3000, 3999]")
					return
				}
				e.Least, e.Most = int(y.number(k, list[0], 0, 31)), int(y.number(k, list[1], 0, 31))
			default:
				y.bad(k, "epic: unknown key %q", shorten(key))
			}
		})
		out = append(out, e)
	}
	return out
}

// checkEpic reports ways that a game cannot have.
func checkEpic(list []Epic, bad func(string, ...any)) {
	if len(list) > MaxEpic {
		bad("%d entries in epic, at most %d are allowed", len(list), MaxEpic)
		return
	}
	for _, e := range list {
		switch {
		case len(e.Word) > MaxEpicWord || strings.ContainsFunc(e.Word, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }):
			bad("epic: the word %q must be at most %d capitals and digits", shorten(e.Word), MaxEpicWord)
		case e.Least < 1 || e.Most < e.Least || e.Most > MaxEpicVersion:
			bad("epic: the versions must be 1 to %d, the least first", MaxEpicVersion)
		}
	}
}

// appendEpic appends ways in the form that epic reads.
func appendEpic(b []byte, list []Epic) []byte {
	for i, e := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '{')
		if e.Word != "" {
			b = append(strconv.AppendQuote(append(b, "word: "...), e.Word), ", "...)
		}
		b = append(b, "versions: ["...)
		b = append(strconv.AppendInt(append(strconv.AppendInt(b, int64(e.Least), 10), ", "...), int64(e.Most), 10), "]}"...)
	}
	return b
}
