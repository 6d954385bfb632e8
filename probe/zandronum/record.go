package zandronum

import (
	"strconv"
	"strings"

	wire "github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/master"
)

// sheet collects rules in their order.
type sheet struct {
	names, values []string
}

func (s *sheet) add(name, value string) {
	s.names, s.values = append(s.names, name), append(s.values, value)
}

func (s *sheet) text(name, value string) { s.add(name, plain(value)) }

func (s *sheet) number(name string, v int) { s.add(name, strconv.Itoa(v)) }

func (s *sheet) bool(name string, v bool) {
	if v {
		s.add(name, "1")
	} else {
		s.add(name, "0")
	}
}

func (s *sheet) list(name string, values []string) {
	clean := make([]string, len(values))
	for i, v := range values {
		clean[i] = plain(v)
	}
	s.add(name, strings.Join(clean, ";"))
}

// plain removes what only a game shows: colour codes, which are 0x1C and a
// letter or a name in brackets, and control characters.
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

// Describe returns a record with what a server said about itself, in the words
// that the Prober uses in the list: rules, players and teams, and nothing else.
func Describe(info *wire.Info) (master.Server, error) {
	var srv master.Server
	err := describe(master.NewRegistry(master.Limits{}), &srv, info).Into(&srv)
	return srv, err
}

// describe writes an answer as the report of a server. The rules of the master
// are kept; those that web pages and tools know from other games have the same
// names as there.
func describe(r *master.Registry, old *master.Server, i *wire.Info) *master.Report {
	var s sheet
	for _, name := range []string{wire.RuleEnforces, wire.RuleRevision, wire.RuleWarning} {
		if value, ok := old.Rules.Get(name); ok {
			s.add(name, value)
		}
	}
	s.basics(i)
	s.play(i)
	s.files(i)
	report := &master.Report{}
	kept := r.Names(s.names)
	for n, value := range s.values {
		if _, slot := kept.ReportedName(n); slot >= 0 {
			report.Rule([]byte(value))
		}
	}
	report.SetRules(kept)
	addPlayers(r, report, i)
	addTeams(r, report, i)
	return report
}

// basics are what every list shows.
func (s *sheet) basics(i *wire.Info) {
	s.text("hostname", i.Name)
	s.text("gamever", i.Version)
	s.text("mapname", i.Map)
	mode := i.ModeName
	if mode == "" && i.Flags&wire.FlagMode != 0 {
		mode = i.Mode.String()
	}
	s.text("gametype", mode)
	s.number("numplayers", int(i.NumPlayers))
	s.number("maxplayers", int(i.MaxPlayers))
	s.number("maxclients", int(i.MaxClients))
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

// play is how the game is played.
func (s *sheet) play(i *wire.Info) {
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

// files are what a player needs to join.
func (s *sheet) files(i *wire.Info) {
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

func addPlayers(r *master.Registry, report *master.Report, i *wire.Info) {
	if len(i.Players) == 0 {
		return
	}
	report.SetPlayers(r.Names([]string{"player_", "score_", "ping_", "team_", "time_", "bot_", "spectator_"}), len(i.Players))
	for _, p := range i.Players {
		team := ""
		if p.Team != wire.NoTeam {
			team = strconv.Itoa(int(p.Team))
		}
		row := sheet{}
		row.text("", p.Name)
		row.number("", int(p.Score))
		row.number("", int(p.Ping))
		row.add("", team)
		row.number("", int(p.Minutes))
		row.bool("", p.Bot)
		row.bool("", p.Spectator)
		for _, value := range row.values {
			report.Player([]byte(value))
		}
	}
}

func addTeams(r *master.Registry, report *master.Report, i *wire.Info) {
	if len(i.TeamNames) == 0 {
		return
	}
	report.SetTeams(r.Names([]string{"team_t", "score_t", "color_t"}), len(i.TeamNames))
	for n, name := range i.TeamNames {
		row := [3]string{plain(name)}
		if n < len(i.TeamScores) {
			row[1] = strconv.Itoa(int(i.TeamScores[n]))
		}
		if n < len(i.TeamColors) {
			row[2] = "#" + strconv.FormatUint(uint64(i.TeamColors[n]&0xFFFFFF)|1<<24, 16)[1:]
		}
		for _, value := range row {
			report.Team([]byte(value))
		}
	}
}
