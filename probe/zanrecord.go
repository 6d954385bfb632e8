package probe

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/internal/query"
	wire "github.com/respawnd/respawnd/internal/zandronum"
)

// zandronumSheet collects rules, or the cells of a row, in their order.
type zandronumSheet []query.Field

func (s *zandronumSheet) add(name, value string) {
	*s = append(*s, query.Field{Name: name, Value: value})
}

func (s *zandronumSheet) text(name, value string) { s.add(name, plain(value)) }

func (s *zandronumSheet) number(name string, v int) { s.add(name, strconv.Itoa(v)) }

func (s *zandronumSheet) bool(name string, v bool) { s.add(name, digit(v)) }

// digit returns "1" or "0", as in rules.
func digit(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

func (s *zandronumSheet) list(name string, values []string) {
	clean := make([]string, len(values))
	for i, v := range values {
		clean[i] = plain(v)
	}
	s.add(name, strings.Join(clean, ";"))
}

// plain removes colour codes, which are 0x1C and a letter or a name in
// brackets, and control characters.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == 0x1C && i+1 < len(text) && text[i+1] == '[':
			end := strings.IndexByte(text[i:], ']')
			if end < 0 {
				return b.String()
			}
			i += end
		case c == 0x1C:
			i++
		case c >= ' ' && c != 0x7F:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// describeZandronum converts an answer to rules, players and teams, with the
// names that other games use where possible.
func describeZandronum(i *wire.Info) query.Status {
	var s zandronumSheet
	s.basics(i)
	s.play(i)
	s.files(i)
	return query.Status{Rules: s, Players: zandronumPlayers(i), Teams: zandronumTeams(i)}
}

// basics adds the rules that every list shows.
func (s *zandronumSheet) basics(i *wire.Info) {
	s.text("hostname", i.Name)
	s.text("gamever", i.Version)
	s.text("mapname", i.Map)
	mode := i.ModeName
	if mode == "" && i.Flags&wire.FlagMode != 0 {
		mode = i.Mode.String()
	}
	s.text("gametype", mode)
	s.number("numplayers", int(i.NumPlayers))
	s.number("maxplayers", zandronumPlaces(i))
	s.number("maxclients", int(i.MaxClients))
	s.number("maxplaying", int(i.MaxPlayers))
	bots, spectators := 0, 0
	for _, p := range i.Players {
		if p.Bot {
			bots++
		} else if p.Spectator {
			spectators++
		}
	}
	s.number("numbots", bots)
	s.number("numspectators", spectators)
	s.bool("password", i.ForcePassword)
	s.bool("joinpassword", i.ForceJoinPassword)
	s.text("website", i.URL)
	s.text("email", i.Email)
	if i.Country != "" && i.Country != "XIP" && i.Country != "XUN" {
		s.text("statedcountry", i.Country)
	}
}

// zandronumPlaces returns the number of clients that fit on the server,
// sv_maxclients, which its number of players can reach. sv_maxplayers is the
// number of them that may play at a time; the others watch.
func zandronumPlaces(i *wire.Info) int {
	if i.Flags&wire.FlagMaxClients == 0 {
		return int(i.MaxPlayers)
	}
	return int(i.MaxClients)
}

// play adds the rules of the game.
func (s *zandronumSheet) play(i *wire.Info) {
	s.text("modeshort", i.ModeShortName)
	s.number("mode", int(i.Mode))
	s.bool("instagib", i.Instagib)
	s.bool("buckshot", i.Buckshot)
	s.number("skill", int(i.Skill))
	s.number("botskill", int(i.BotSkill))
	s.number("fraglimit", int(i.Limits.Frags))
	s.number("timelimit", int(i.Limits.Time))
	s.number("timeleft", int(i.Limits.TimeLeft))
	s.number("duellimit", int(i.Limits.Duels))
	s.number("pointlimit", int(i.Limits.Points))
	s.number("winlimit", int(i.Limits.Wins))
	if i.Flags&wire.FlagTeamDamage != 0 {
		s.add("teamdamage", strconv.FormatFloat(float64(i.TeamDamage), 'g', -1, 32))
	}
	flags := i.DMFlags
	if flags == nil {
		flags = i.OldDMFlags[:]
	}
	words := make([]string, len(flags))
	for n, f := range flags {
		words[n] = strconv.FormatUint(uint64(f), 10)
	}
	s.add("dmflags", strings.Join(words, ";"))
	s.number("voicechat", int(i.VoiceChat))
}

// files adds the files that a player needs to join.
func (s *zandronumSheet) files(i *wire.Info) {
	s.text("basegame", i.GameName)
	s.text("iwad", i.IWAD)
	s.list("pwads", i.PWADs)
	s.list("pwadhashes", i.PWADHashes)
	var optional []string
	for _, n := range i.OptionalWADs {
		if int(n) < len(i.PWADs) {
			optional = append(optional, i.PWADs[n])
		}
	}
	s.list("optionalpwads", optional)
	s.list("dehacked", i.DEH)
	if i.Testing {
		s.text("testing", i.TestingArchive)
	}
}

func zandronumPlayers(i *wire.Info) query.Table {
	if len(i.Players) == 0 {
		return query.Table{}
	}
	t := query.Table{Columns: []string{"player_", "score_", "ping_", "team_", "time_", "bot_", "spectator_"}}
	for _, p := range i.Players {
		team := ""
		if p.Team != wire.NoTeam {
			team = strconv.Itoa(int(p.Team))
		}
		t.Rows = append(t.Rows, []string{
			plain(p.Name), strconv.Itoa(int(p.Score)), strconv.Itoa(int(p.Ping)), team, strconv.Itoa(int(p.Minutes)),
			digit(p.Bot), digit(p.Spectator),
		})
	}
	return t
}

func zandronumTeams(i *wire.Info) query.Table {
	if len(i.TeamNames) == 0 {
		return query.Table{}
	}
	t := query.Table{Columns: []string{"team_t", "score_t", "color_t"}}
	for n, name := range i.TeamNames {
		row := []string{plain(name), "", ""}
		if n < len(i.TeamScores) {
			row[1] = strconv.Itoa(int(i.TeamScores[n]))
		}
		if n < len(i.TeamColors) {
			row[2] = "#" + strconv.FormatUint(uint64(i.TeamColors[n]&0xFFFFFF)|1<<24, 16)[1:]
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
