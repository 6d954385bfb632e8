package commands

import (
	"context"
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
	return p.listCommand("list GAME", "Show the last 100 matches of a game", cobra.ExactArgs(1),
		func(ctx context.Context, op operator.Operator, args []string) error {
			list, err := op.ListMatches(ctx, operator.MatchQuery{Game: args[0]})
			if err != nil {
				return err
			}
			return show(p, "id\treported\toutcome\tplayers…", list, func(m storage.Match) []string {
				return []string{strconv.FormatUint(m.ID, 10), stamp(m.First), string(m.Outcome), matchPlayers(m)}
			})
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

// matchCommand returns a command about one match.
func (p *program) matchCommand(use, short string, f func(context.Context, operator.Operator, uint32) error) *cobra.Command {
	return p.operatorCommand(use, short, cobra.ExactArgs(1), func(ctx context.Context, op operator.Operator, args []string) error {
		id, err := strconv.ParseUint(args[0], 10, 31)
		if err != nil || id == 0 {
			return usageError{fmt.Errorf("%q is not the id of a match: `respawnd matches list GAME` shows them", args[0])}
		}
		return f(ctx, op, uint32(id))
	})
}

func (p *program) matchesShow() *cobra.Command {
	return p.jsonFlag(p.matchCommand("show ID", "Show the reports of a match", func(ctx context.Context, op operator.Operator, id uint32) error {
		m, err := op.Match(ctx, id)
		if err != nil {
			return err
		}
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
	return p.matchCommand("delete ID", "Delete a match; scores stay", func(ctx context.Context, op operator.Operator, id uint32) error {
		return p.confirm(op.DeleteMatch(ctx, id), "deleted match %d", id)
	})
}
