package commands

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) matchesCommand() *cobra.Command {
	return group("matches", "Show and delete the matches that games reported", p.matchesList(), p.matchesShow(), p.matchesDelete())
}

func (p *program) matchesList() *cobra.Command {
	return listOf(p, operator.ListMatches, "id\treported\toutcome\tplayers…", func(m storage.Match) []string {
		return []string{strconv.FormatUint(m.ID, 10), stamp(m.First), string(m.Outcome), matchPlayers(m)}
	})
}

// matchPlayers returns the players of a match with their results.
func matchPlayers(m storage.Match) string {
	all := make([]string, 0, len(m.Players))
	for _, p := range m.Players {
		all = append(all, playerName(p)+" "+p.Result)
	}
	return strings.Join(all, ", ")
}

// playerName returns the nick of a player; a guest has none.
func playerName(p storage.MatchPlayer) string {
	if p.Nick == "" {
		return "(guest)"
	}
	return p.Nick
}

func (p *program) matchesShow() *cobra.Command {
	return p.jsonFlag(command(p, operator.GetMatch, func(_ operator.MatchRef, m storage.Match) error {
		if p.json {
			return p.printObject(m)
		}
		if err := p.say("match %d of %s: %s\nsession %s, begun %s, reported %s, settled %s", m.ID, m.Game, m.Outcome, m.Session,
			stamp(m.Began), stamp(m.First), stamp(m.Settled)); err != nil {
			return err
		}
		if err := p.table("profile\treporter…\treport", rows(m.Sides, func(s storage.MatchSide) []string {
			report := strconv.Itoa(s.Version)
			switch {
			case s.Version == 0:
				report = "missing"
			case s.Version < 0:
				report = "another one"
			}
			if s.Host {
				report += ", authoritative"
			}
			return []string{strconv.Itoa(int(s.Profile)), dash(printable(s.Nick)), report}
		})); err != nil {
			return err
		}
		return p.table("profile\tplayer…\tteam\tresult\tvalues…", rows(m.Players, func(pl storage.MatchPlayer) []string {
			values := make([]string, 0, len(pl.Values))
			for _, v := range pl.Values {
				values = append(values, fmt.Sprintf("%d=%s", v.Key, v.Text))
			}
			return []string{strconv.Itoa(int(pl.Profile)), printable(playerName(pl)), strconv.FormatUint(uint64(pl.Team), 10), pl.Result, dash(strings.Join(values, " "))}
		}))
	}))
}

func (p *program) matchesDelete() *cobra.Command {
	return command(p, operator.DeleteMatch, func(in operator.MatchRef, _ operator.Removed) error { return p.say("deleted match %d", in.ID) })
}
