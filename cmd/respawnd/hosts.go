package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/internal/daemon"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/operator"
)

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
			catalogue, err := operator.ReadGames(cfg.Games.File)
			if err != nil {
				return err
			}
			g, known := catalogue.Lookup(game)
			if !known {
				g.Name = strings.ToLower(game)
			}
			served := daemon.Served(cfg)
			if err := games.WriteHosts(p.out, g, addr, cfg.Games.Domains, func(n games.HostName) bool { return n.LeadsHere(served) }); err != nil {
				return err
			}
			if !known { // it may be misspelt
				_, _ = fmt.Fprintf(p.err, "warning: %s is not a built-in game; is that its name? respawnd game list\n", printable(game))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&game, "game", "", "name of the game, such as swat4")
	cmd.Flags().StringVar(&ip, "ip", "", "address of the machine that runs respawnd")
	return cmd
}
