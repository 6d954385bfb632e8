package games

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/internal/ascii"
)

// QuickMatch is the automatic match of a game whose players are brought together by a
// program in a chat room. The zero value: there is none.
type QuickMatch struct {
	// Room is the name of the group room, without regard to case.
	Room string
	// Nick is the name of the program in chat, at most MaxBotNick characters.
	Nick string
	// Profile is the number by which games recognise the program. No player has it.
	Profile uint32
	// Maps are the folders of the maps that are played, at most MaxQuickMaps. A
	// game skips those that it does not have.
	Maps []string
}

// Bounds of QuickMatch.
const (
	MaxBotNick   = 20
	MaxQuickMaps = 128
	maxQuickMap  = 64 // characters
)

// IsZero reports whether there is no automatic match.
func (q QuickMatch) IsZero() bool {
	return q.Nick == "" && q.Room == "" && q.Profile == 0 && len(q.Maps) == 0
}

// String returns the match as in lists of differences.
func (q QuickMatch) String() string {
	if q.IsZero() {
		return ""
	}
	return strings.Join([]string{q.Room, q.Nick, strconv.FormatUint(uint64(q.Profile), 10), strings.Join(q.Maps, "/")}, " ")
}

// QuickRoom returns the group room of the automatic match.
func (g Game) QuickRoom() (Room, bool) {
	if g.QuickMatch.IsZero() {
		return Room{}, false
	}
	i := slices.IndexFunc(g.Rooms, func(r Room) bool { return ascii.EqualFold(r.Name, g.QuickMatch.Room) })
	if i < 0 {
		return Room{}, false
	}
	return g.Rooms[i], true
}

// QuickMatchProfile reports whether a profile number is that of a program, which no
// player may claim.
func (c *Catalog) QuickMatchProfile(id uint32) bool {
	idx := c.current.Load()
	return idx != nil && idx.bots[id]
}

// QuickMatchNick reports whether a nick, in whatever case, is that of a program.
func (c *Catalog) QuickMatchNick(nick string) bool {
	idx := c.current.Load()
	return idx != nil && len(nick) <= MaxBotNick && idx.botNicks[ascii.ToLower(nick)]
}

// QuickMatches returns the games with an automatic match.
func (c *Catalog) QuickMatches() (list []Game) {
	idx := c.current.Load()
	if idx == nil {
		return nil
	}
	for _, i := range idx.quick {
		list = append(list, idx.games[i])
	}
	return list
}

// addQuickMatches collects the games with an automatic match. Two programs cannot
// have one nick.
func (idx *index) addQuickMatches(probs *problems) {
	idx.bots, idx.botNicks = make(map[uint32]bool), make(map[string]bool)
	for i := range idx.games {
		g := &idx.games[i]
		q, nick := &g.QuickMatch, ascii.ToLower(g.QuickMatch.Nick)
		switch {
		case q.IsZero():
		case idx.botNicks[nick]:
			probs.add(g.Source, g.Name, "quickmatch: another game has the nick %s", q.Nick)
		default:
			idx.bots[q.Profile], idx.botNicks[nick] = true, true
			idx.quick = append(idx.quick, i)
		}
	}
}

// quickMatch reads the automatic match of a game.
func (y *yamlReader) quickMatch(n *yaml.Node) (q QuickMatch) {
	y.eachKey(n, func(key string, k, v *yaml.Node) {
		switch key {
		case "room":
			q.Room = y.text(k, v)
		case "nick":
			q.Nick = y.text(k, v)
		case "profile":
			q.Profile = uint32(y.number(k, v, 1, 31))
		case "maps":
			for _, item := range y.items(k, v) {
				q.Maps = append(q.Maps, y.text(k, item))
			}
		default:
			y.bad(k, "quickmatch: unknown key %q", shorten(key))
		}
	})
	return q
}

// check reports the first error of q.
func (q QuickMatch) check(bad func(string, ...any)) {
	if q.IsZero() {
		return
	}
	switch {
	case q.Room == "" || textProblem(q.Room, MaxTextLen) != "":
		bad("quickmatch: it needs the name of a room")
	case !validBotNick(q.Nick):
		bad("quickmatch: the nick must be 1 to %d letters, digits, hyphens and underscores", MaxBotNick)
	case q.Profile == 0:
		bad("quickmatch: it needs the number of a profile")
	case len(q.Maps) == 0 || len(q.Maps) > MaxQuickMaps:
		bad("quickmatch: %d maps, 1 to %d are allowed", len(q.Maps), MaxQuickMaps)
	case slices.ContainsFunc(q.Maps, func(m string) bool { return !validQuickMap(m) }):
		bad("quickmatch: the name of a map must be 1 to %d printable characters without < and >", maxQuickMap)
	}
}

func validBotNick(s string) bool {
	return s != "" && len(s) <= MaxBotNick && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

func validQuickMap(s string) bool {
	return s != "" && len(s) <= maxQuickMap && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r > '~' || r == '<' || r == '>' || r == '\\'
	})
}

// appendQuickMatch appends q in the form that quickMatch reads.
func appendQuickMatch(b []byte, q QuickMatch) []byte {
	if q.IsZero() {
		return append(b, "{}"...)
	}
	b = strconv.AppendQuote(append(b, "{room: "...), q.Room)
	b = strconv.AppendQuote(append(b, ", nick: "...), q.Nick)
	b = strconv.AppendUint(append(b, ", profile: "...), uint64(q.Profile), 10)
	b = append(b, ", maps: ["...)
	for i, m := range q.Maps {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendQuote(b, m)
	}
	return append(b, "]}"...)
}
