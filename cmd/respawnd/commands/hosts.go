package commands

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func (p *program) hostsCommand() *cobra.Command {
	var game, ip string
	cmd := &cobra.Command{
		Use:   "hosts --game GAME --ip A.B.C.D",
		Short: "Print the hosts-file lines that send a game's clients here",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			g, err := p.findGame(cmd.Context(), cfg, game)
			if err != nil {
				return fmt.Errorf("--game: %w", err)
			}
			if _, err := namesOf(g, cfg); err != nil {
				return err
			}
			return games.WriteHosts(p.out, g, addr, cfg.Games.Domains, leadsHere(cfg))
		},
	}
	cmd.Flags().StringVar(&game, "game", "", "name of the game, such as swat4")
	cmd.Flags().StringVar(&ip, "ip", "", "address of the machine that runs respawnd")
	return cmd
}

// findGame returns a game of the built-in list, of games.file, or of the operator's
// own records. The store is opened only for the last ones, and never created.
func (p *program) findGame(ctx context.Context, cfg *services.Config, name string) (games.Game, error) {
	catalogue, err := operator.ReadGames(cfg.Games.File)
	if err != nil {
		return games.Game{}, err
	}
	if g, known := catalogue.Lookup(name); known {
		return g, nil
	}
	list := catalogue.All()
	if !missing(daemon.StorePath(cfg)) {
		op, closeStore, err := p.connect(ctx, cfg)
		if err != nil {
			return games.Game{}, fmt.Errorf("%s is not a built-in game, and your own cannot be read: %w", printable(name), err)
		}
		list, err = operator.ListGames.Call(ctx, op, operator.None{})
		if err := errors.Join(err, closeStore()); err != nil {
			return games.Game{}, err
		}
	}
	i := slices.IndexFunc(list, func(g games.Game) bool { return strings.EqualFold(g.Name, name) })
	if i < 0 {
		return games.Game{}, unknownGame(list, name)
	}
	return list[i], nil
}

// maxNearGames is how many games with similar names are suggested.
const maxNearGames = 5

// unknownGame returns the error that there is no game of a name. It suggests games
// whose name is similar or whose title has the words.
func unknownGame(list []games.Game, name string) error {
	near := nearGames(list, name)
	if len(near) == 0 {
		return fmt.Errorf("%s: %w", printable(name), errUnknownGame)
	}
	return fmt.Errorf("%s: %w; did you mean %s?", printable(name), errUnknownGame, strings.Join(near, ", "))
}

func nearGames(list []games.Game, name string) (near []string) {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	if n := configs.Nearest(name, names); n != "" {
		near = append(near, n)
	}
	word := storage.Fold(name)
	for i := range list {
		g := &list[i]
		if len(near) == maxNearGames {
			break
		}
		if word != "" && strings.Contains(storage.Fold(g.Title), word) && !slices.Contains(near, g.Name) {
			near = append(near, fmt.Sprintf("%s (%s)", g.Name, printable(g.Title)))
		}
	}
	return near
}
