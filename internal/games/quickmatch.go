package games

import (
	"slices"

	"github.com/respawnd/respawnd/internal/ascii"
)

// QuickMatch is the automatic match of a game whose players are brought together by a
// program in a chat room. The zero value: there is none.
type QuickMatch struct {
	// Name of the group room, without regard to case. Empty: the room of all the game's
	// players.
	Room string `yaml:"room" as:"text"`
	// Without a group room: the game in whose room the program is. Empty: this one.
	Title string `yaml:"title" as:"name"`
	// How players are matched, and what the program says then. redalert: as in Red Alert 3.
	// Without it: as in Generals.
	Style QuickStyle `yaml:"style" words:"redalert"`
	// Of the program in chat.
	Nick string `yaml:"nick,required" as:"nick" max:"20"`
	// Number by which games recognise the program; no player can claim it.
	Profile uint32 `yaml:"profile,required" range:"1 to 2147483647"`
	// Folders of the maps that are played. A game skips those that it does not have. None:
	// the game has a list of its own.
	Maps []string `yaml:"maps" as:"map" max:"64" most:"128"`
}

func (q *QuickMatch) rules(bad func(string, ...any)) {
	if q.Style == QuickGenerals && !q.IsZero() && (q.Room == "" || len(q.Maps) == 0) {
		bad("room and maps are needed")
	}
}

// QuickStyle is the kind of a QuickMatch.
type QuickStyle string

// The kinds.
const (
	QuickGenerals QuickStyle = ""         // of Generals and Zero Hour
	QuickRedAlert QuickStyle = "redalert" // of Red Alert 3
)

// maxBotNick bounds QuickMatch.Nick.
const maxBotNick = 20

// IsZero reports whether there is no automatic match.
func (q QuickMatch) IsZero() bool {
	return q.Nick == "" && q.Room == "" && q.Title == "" && q.Profile == 0 && len(q.Maps) == 0
}

// QuickRoom returns the group room of the automatic match, one without number for the room of
// all the game's players.
func (g Game) QuickRoom() (Room, bool) {
	if g.QuickMatch.IsZero() {
		return Room{}, false
	}
	if g.QuickMatch.Room == "" {
		return Room{}, true
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
	return idx != nil && len(nick) <= maxBotNick && idx.botNicks[ascii.ToLower(nick)]
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
