package players

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/games"
)

func hostsCommand(con *cli.Console) *cobra.Command {
	var game, ip string
	cmd := &cobra.Command{
		Use:   "hosts --game GAME --ip A.B.C.D",
		Short: "Print the hosts-file lines that send a game's clients here",
		Args:  cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if game == "" || ip == "" {
				return cli.Misused(errors.New("--game and --ip are needed"))
			}
			addr, err := netip.ParseAddr(ip)
			if err != nil {
				return cli.Misused(fmt.Errorf("--ip: %w", err))
			}
			cfg, _, err := con.Load()
			if err != nil {
				return con.ListMistakes(err)
			}
			g, err := con.FindGame(cmd.Context(), cfg, game)
			if err != nil {
				return fmt.Errorf("--game: %w", err)
			}
			if _, err := namesOf(g, cfg); err != nil {
				return err
			}
			return games.WriteHosts(con.Out, g, addr, cfg.Games.Domains, leadsHere(cfg))
		},
	}
	cmd.Flags().StringVar(&game, "game", "", "name of the game, such as swat4")
	cmd.Flags().StringVar(&ip, "ip", "", "address of the machine that runs respawnd")
	return cmd
}
