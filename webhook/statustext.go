package webhook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/respawnd/respawnd/internal/clean"
	"github.com/respawnd/respawnd/internal/colour"
	"github.com/respawnd/respawnd/internal/query"
	"github.com/respawnd/respawnd/master"
)

// Bounds of a status message. Discord counts UTF-16 code units, and takes 25 fields with names of
// 256 and values of 1,024, and 6,000 in all.
const (
	maxFields    = 25
	maxFieldName = 256
	maxValue     = 1024
	maxEmbed     = 5800
	maxLines     = 10 // servers of a game
	maxPlaying   = 12 // names of players of a server
	maxNick      = 24
)

// statusMessage is the body of a request about a status message.
type statusMessage struct {
	Embeds   []embed  `json:"embeds"`
	Mentions mentions `json:"allowed_mentions"`
}

type embed struct {
	Title     string  `json:"title"`
	Fields    []field `json:"fields"`
	Timestamp string  `json:"timestamp,omitempty"` // of the edit
}

// field is the part of an embed about one game.
type field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func length(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// gameStatus is what a status message says of a game.
type gameStatus struct {
	title   string
	servers []*master.Server // the fullest first
	players int
}

// statusEmbed describes the listed servers of the games of a hook: those games with the most players
// first, and as many as fit.
func (d *Dispatcher) statusEmbed(h *Hook) embed {
	games := d.gamesOf(h)
	servers, players := 0, 0
	for _, g := range games {
		servers, players = servers+len(g.servers), players+g.players
	}
	e := embed{Title: count(players, "player") + " on " + count(servers, "server"), Fields: []field{}}
	size := length(e.Title)
	for i, g := range games {
		f := d.statusField(g)
		more := field{"And more", count(len(games)-i, "game") + " with servers"}
		if size += length(f.Name) + length(f.Value); i < len(games)-1 && len(e.Fields) == maxFields-1 || size > maxEmbed {
			e.Fields = append(e.Fields, more)
			break
		}
		e.Fields = append(e.Fields, f)
	}
	return e
}

// gamesOf returns the games of a hook that have servers.
func (d *Dispatcher) gamesOf(h *Hook) []*gameStatus {
	by := make(map[string]*gameStatus)
	for _, e := range d.opt.Registry.All() {
		s := e.Server
		if len(h.Games) > 0 && !slices.Contains(h.Games, s.Game) {
			continue
		}
		g := by[s.Game]
		if g == nil {
			g = &gameStatus{title: clean.Line(d.opt.Title(s.Game), maxName)}
			by[s.Game] = g
		}
		g.servers, g.players = append(g.servers, s), g.players+s.Population()
	}
	var games []*gameStatus
	for _, g := range by {
		slices.SortFunc(g.servers, func(a, b *master.Server) int {
			return cmp.Or(cmp.Compare(b.Population(), a.Population()), strings.Compare(a.ID(), b.ID()))
		})
		games = append(games, g)
	}
	slices.SortFunc(games, func(a, b *gameStatus) int {
		return cmp.Or(cmp.Compare(b.players, a.players), cmp.Compare(len(b.servers), len(a.servers)), strings.Compare(a.title, b.title))
	})
	return games
}

// statusField has a line for each server with players, as many as fit, and one about the others.
func (d *Dispatcher) statusField(g *gameStatus) field {
	f := field{Name: escapeMarkdown(g.title) + ": " + count(g.players, "player") + " on " + count(len(g.servers), "server")}
	shown := 0
	for ; shown < min(maxLines, len(g.servers)) && g.servers[shown].Population() > 0; shown++ {
		line := d.statusLine(g.servers[shown])
		if length(f.Value)+length(line) > maxValue-len("and 50000 servers more") {
			break
		}
		f.Value += line + "\n"
	}
	switch rest := g.servers[shown:]; {
	case len(rest) == 0:
	case rest[0].Population() == 0:
		f.Value += count(len(rest), "server") + " without players"
	default:
		f.Value += count(len(rest), "server") + " more"
	}
	return f
}

func (d *Dispatcher) statusLine(s *master.Server) string {
	out := describe(s, "", d.opt.Colours(s.Game))
	line := fmt.Sprintf("**%s** %d", escapeMarkdown(cmp.Or(out.Name, "no name")), out.Players)
	if out.MaxPlayers > 0 {
		line += fmt.Sprintf("/%d", out.MaxPlayers)
	}
	if out.Map != "" {
		line += ", " + escapeMarkdown(out.Map)
	}
	if names := d.playing(s); len(names) > 0 {
		line += ": " + strings.Join(names, ", ")
	}
	return line
}

// playing returns the names of the players of a server, at most maxPlaying.
func (d *Dispatcher) playing(s *master.Server) (names []string) {
	for _, column := range query.PlayerNames() {
		at, ok := s.Players.Names().Index(column)
		if !ok {
			continue
		}
		for row := range s.Players.Rows() {
			name := colour.Line(colour.OfServer(s.Origin, d.opt.Colours(s.Game)), s.Players.Value(row, at), maxNick)
			if name == "" {
				continue
			}
			if len(names) == maxPlaying {
				return append(names, "…")
			}
			names = append(names, escapeMarkdown(name))
		}
		return names
	}
	return nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
