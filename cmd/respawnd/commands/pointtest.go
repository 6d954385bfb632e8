package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/playtest"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
)

const pointTestHelp = `Plays the first steps of a game against a server. It tests whether the names of the
game lead there on this computer, and whether each service that the game uses answers.
It registers no server, makes no account and changes nothing.

The command fails if a step fails that the game needs to be played online; if that is
not known of the game, any failed step counts. The ports are those of the configuration,
else the usual ones.`

func (p *program) pointTestCommand() *cobra.Command {
	var to string
	var anyNames bool
	cmd := &cobra.Command{
		Use:   "test GAME --to HOST",
		Short: "Play a game's first steps against a server",
		Long:  pointTestHelp,
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return usageError{errors.New("--to is needed")}
			}
			return p.playTest(cmd.Context(), args[0], to, anyNames)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the server: its IPv4 address, or its name")
	cmd.Flags().BoolVar(&anyNames, "no-names", false, "do not test where the names of the game lead")
	return p.jsonFlag(cmd)
}

func (p *program) playTest(ctx context.Context, name, to string, anyNames bool) error {
	cfg, _, err := p.load()
	if err != nil {
		return p.listMistakes(err)
	}
	t, err := p.target(ctx, cfg, name, to)
	if err != nil {
		return err
	}
	if anyNames {
		t.Lookup = nil
	}
	var failed, needed int
	err = playtest.Run(ctx, t, func(r playtest.Result) error {
		if r.Failed != "" {
			failed++
			if r.Needed {
				needed++
			}
		}
		if p.json {
			return p.printObject(r)
		}
		return p.sayResult(r)
	})
	if len(t.Game.Needs) == 0 {
		needed = failed
	}
	if err == nil && needed > 0 {
		err = reportedError{fmt.Errorf("%d steps failed", needed)}
	}
	return err
}

// sayResult prints how a step went.
func (p *program) sayResult(r playtest.Result) error {
	if r.Failed == "" {
		return p.say("%-40s ok: %s", r.Step, printable(r.Remark))
	}
	word := "FAILED"
	if !r.Needed {
		word = "failed"
	}
	if err := p.say("%-40s %s: %s", r.Step, word, printable(r.Failed)); err != nil {
		return err
	}
	return p.say("%-40s so %s", "", printable(r.Means))
}

// target returns a game and the server at a host.
func (p *program) target(ctx context.Context, cfg *services.Config, name, to string) (*playtest.Target, error) {
	g, err := p.findGame(ctx, cfg, name)
	if err != nil {
		return nil, err
	}
	at, err := addressOf(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	names, err := namesOf(g, cfg)
	if err != nil {
		return nil, err
	}
	ports := make(map[games.Service]uint16)
	for _, l := range cfg.Listeners() {
		s := games.Service(l.Service)
		_, text, err := net.SplitHostPort(l.Address)
		if n, bad := strconv.ParseUint(text, 10, 16); err == nil && bad == nil && ports[s] == 0 {
			ports[s] = uint16(n)
		}
	}
	if cfg.WebServices.NAS {
		ports["nas"] = ports["webservices"]
	}
	return &playtest.Target{
		Game: g, Address: at, Names: names,
		Port:  func(s games.Service) uint16 { return ports[s] },
		Built: func(s games.Service) bool { return daemon.Served(cfg)(s) != games.NotBuilt },
		Lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
		},
	}, nil
}
