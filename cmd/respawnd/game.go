package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) gameCommand() *cobra.Command {
	game := &cobra.Command{
		Use: "game", Short: "Look at the catalogue of games and add to it", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	game.AddCommand(p.gameList(), p.gameShow(), p.gameAdd(), p.gameRemove(), p.gameImport(), p.roomCommand())
	return game
}

func (p *program) gameList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show all games",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				list, err := op.Games(ctx)
				if err != nil {
					return err
				}
				var rows [][]string
				for _, g := range list {
					key := "yes"
					if !g.Usable() {
						key = "no"
					}
					rows = append(rows, []string{g.Name, strconv.Itoa(int(g.QueryPort)), key, printable(g.Title)})
				}
				return p.table("name\tport\tkey\ttitle", rows)
			})
		},
	}
}

func (p *program) gameShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one game, as it would stand in games.file",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				list, err := op.Games(ctx)
				if err != nil {
					return err
				}
				for _, g := range list {
					if strings.EqualFold(g.Name, args[0]) {
						return games.WriteYAML(p.out, []games.Game{g})
					}
				}
				return fmt.Errorf("%s: %w", args[0], errUnknownGame)
			})
		},
	}
}

var errUnknownGame = errors.New("not in the catalogue; `respawnd game list` shows what is")

func (p *program) gameAdd() *cobra.Command {
	var g games.Game
	var flags uint16
	var disabled uint32
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a game, or change what is given of a built-in one",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			g.Name = strings.ToLower(args[0])
			if cmd.Flags().Changed("backend-flags") {
				g.BackendFlags, g.Given = flags, g.Given|games.FieldBackendFlags
			}
			if cmd.Flags().Changed("disabled-services") {
				g.DisabledServices, g.Given = disabled, g.Given|games.FieldDisabledServices
			}
			if cmd.Flags().Changed("maintenance") {
				g.Given |= games.FieldMaintenance
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				if err := op.PutGames(ctx, []games.Game{g}); err != nil {
					return err
				}
				return p.say("stored %s", g.Name)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&g.Title, "title", "", "what people read")
	f.StringSliceVar(&g.Secrets, "secret", nil, "secret key; the first is used, all are accepted")
	f.IntVar(&g.ID, "id", 0, "numeric id")
	f.Uint16Var(&g.QueryPort, "port", 0, "standard query port")
	f.Uint16Var(&flags, "backend-flags", 0, "128: servers want a challenge before they answer queries")
	f.Uint32Var(&disabled, "disabled-services", 0, "availability answer: 1 gone, 2 down for now")
	f.BoolVar(&g.Maintenance, "maintenance", false, "answer \"down for now\"")
	return cmd
}

func (p *program) gameRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Take back what you added or changed; a built-in game stays as it was",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				if err := op.DeleteGame(ctx, strings.ToLower(args[0])); err != nil {
					return err
				}
				return p.say("removed your record of %s", args[0])
			})
		},
	}
}

func (p *program) gameImport() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Add the games of a list (gslist.cfg, game_list.tsv or our YAML)",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			list, report, err := games.Import(f, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			for _, problem := range report.Problems {
				_, _ = fmt.Fprintf(p.err, "refused: %s\n", problem)
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				return p.addImported(ctx, op, list, report)
			})
		},
	}
}

// addImported stores what an imported list adds to the catalogue.
func (p *program) addImported(ctx context.Context, op operator.Operator, list []games.Game, report games.Report) error {
	known, err := op.Games(ctx)
	if err != nil {
		return err
	}
	catalog, err := games.NewCatalog(known)
	if err != nil {
		return err
	}
	added := list
	if report.Format != games.FormatYAML { // our own form says what it means
		added = catalog.Additions(list)
	}
	if len(added) > 0 {
		if err := op.PutGames(ctx, added); err != nil {
			return err
		}
	}
	return p.say("read %d games, stored %d that add something", len(list), len(added))
}

func (p *program) roomCommand() *cobra.Command {
	room := &cobra.Command{
		Use: "room", Short: "Group rooms in which players of a game meet", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	room.AddCommand(p.roomAdd(), p.roomList(), p.roomRemove())
	return room
}

func (p *program) roomAdd() *cobra.Command {
	var r storage.Room
	cmd := &cobra.Command{
		Use:   "add GAME NAME",
		Short: "Add a group room to a game",
		Args:  usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Game, r.Name = args[0], args[1]
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				stored, err := op.PutRoom(ctx, r)
				if err != nil {
					return err
				}
				return p.say("room %d of %s: %s", stored.ID, stored.Game, printable(stored.Name))
			})
		},
	}
	cmd.Flags().Uint32Var(&r.ID, "id", 0, "number of the room, unique over all games (default: a free one)")
	cmd.Flags().IntVar(&r.MaxWaiting, "max", 100, "how many people fit")
	return cmd
}

func (p *program) roomList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [GAME]",
		Short: "Show the group rooms that were added",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				list, err := op.Rooms(ctx, strings.Join(args, ""))
				if err != nil {
					return err
				}
				var rows [][]string
				for _, r := range list {
					rows = append(rows, []string{strconv.FormatUint(uint64(r.ID), 10), r.Game, strconv.Itoa(r.MaxWaiting), printable(r.Name)})
				}
				return p.table("id\tgame\tmax\tname", rows)
			})
		},
	}
}

func (p *program) roomRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID",
		Short: "Remove a group room that was added",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseUint(args[0], 10, 32)
			if err != nil {
				return usageError{err}
			}
			return p.operate(cmd.Context(), func(ctx context.Context, op operator.Operator) error {
				if err := op.DeleteRoom(ctx, uint32(id)); err != nil {
					return err
				}
				return p.say("removed room %d", id)
			})
		},
	}
}

// doubtGame says so if a name is not that of a built-in game: it may be misspelt.
func (p *program) doubtGame(name string) error {
	list, err := games.ParseYAML(bytes.NewReader(configs.Games), games.Source{Origin: games.FromEmbedded})
	if err != nil {
		return err
	}
	catalogue, err := games.NewCatalog(list)
	if err != nil {
		return err
	}
	if _, known := catalogue.Lookup(name); !known {
		_, _ = fmt.Fprintf(p.err, "warning: %s is not a built-in game; is that its name? respawnd game list\n", printable(name))
	}
	return nil
}

func (p *program) hostsCommand() *cobra.Command {
	var game, ip string
	cmd := &cobra.Command{
		Use:   "hosts --game GAME --ip A.B.C.D",
		Short: "Print the hosts-file lines that send a game's clients here",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if game == "" || ip == "" {
				return usageError{errors.New("--game and --ip are needed")}
			}
			addr, err := netip.ParseAddr(ip)
			if err != nil {
				return usageError{fmt.Errorf("--ip: %w", err)}
			}
			cfg, _, err := p.load()
			if err != nil {
				return p.listMistakes(err)
			}
			if err := games.WriteHosts(p.out, strings.ToLower(game), addr, cfg.Games.Domains); err != nil {
				return err
			}
			return p.doubtGame(game)
		},
	}
	cmd.Flags().StringVar(&game, "game", "", "name of the game, such as swat4")
	cmd.Flags().StringVar(&ip, "ip", "", "address of the machine that runs respawnd")
	return cmd
}
