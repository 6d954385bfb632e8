package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/games"
)

// doubtGame warns if a name is not that of a built-in game: it may be misspelt.
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
