package players

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
)

func hostsCommand(con *cli.Console) *cobra.Command {
	var wanted []string
	var ip string
	var addr netip.Addr
	cmd := con.Configured("hosts --game GAME --ip A.B.C.D", "Print the hosts-file lines that send the clients of games here", cobra.NoArgs,
		func(ctx context.Context, cfg *services.Config, _ []string) error {
			for _, game := range wanted {
				g, err := con.FindGame(ctx, cfg, game)
				if err != nil {
					return fmt.Errorf("--game: %w", err)
				}
				if _, err := namesOf(g, cfg); err != nil {
					return err
				}
				if err := games.WriteHosts(con.Out, g, addr, cfg.Games.Domains, leadsHere(cfg)); err != nil {
					return err
				}
			}
			return nil
		})
	cmd.PreRunE = func(*cobra.Command, []string) (err error) {
		if len(wanted) == 0 || ip == "" {
			return cli.Misused(errors.New("--game and --ip are needed"))
		}
		if addr, err = netip.ParseAddr(ip); err != nil {
			return cli.Misused(fmt.Errorf("--ip: %w", err))
		}
		return nil
	}
	cmd.Flags().StringSliceVar(&wanted, "game", nil, "names of games, such as swat4 or ut,swat4")
	cmd.Flags().StringVar(&ip, "ip", "", "address of the machine that runs respawnd")
	return cmd
}
