package players

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/playtest"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/service"
)

const pointTestHelp = `Plays the first steps of a game against a server. It tests whether the names of the
game lead there on this computer, and whether each service that the game uses answers.
It registers no server, makes no account and changes nothing.

The command fails if a step fails that the game needs to be played online; if that is
not known of the game, any failed step counts. It also fails if every copy of the game
is known to need more than services that answer. The ports are those of the configuration,
else the usual ones.`

func pointTestCommand(con *cli.Console) *cobra.Command {
	var to string
	var anyNames bool
	cmd := con.Configured("test GAME --to HOST", "Play a game's first steps against a server", cobra.ExactArgs(1),
		func(ctx context.Context, cfg *services.Config, args []string) error {
			return playTest(ctx, con, cfg, args[0], to, anyNames)
		})
	cmd.Long = pointTestHelp
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if to == "" {
			return cli.Misused(errors.New("--to is needed"))
		}
		return nil
	}
	cmd.Flags().StringVar(&to, "to", "", "the server: its IPv4 address, or its name")
	cmd.Flags().BoolVar(&anyNames, "no-names", false, "do not test where the names of the game lead")
	return con.JSONFlag(cmd)
}

func playTest(ctx context.Context, con *cli.Console, cfg *services.Config, name, to string, anyNames bool) error {
	t, err := target(ctx, con, cfg, name, to)
	if err != nil {
		return err
	}
	if anyNames || len(t.Names) == 0 {
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
		if con.JSON {
			return con.PrintObject(r)
		}
		return sayResult(con, r)
	})
	if len(t.Game.Needs) == 0 {
		needed = failed
	}
	if err == nil && needed > 0 {
		err = cli.Reported(fmt.Errorf("%d steps failed", needed))
	}
	return err
}

// sayResult prints how a step went.
func sayResult(con *cli.Console, r playtest.Result) error {
	if r.Failed == "" {
		return con.Say("%-40s ok: %s", r.Step, cli.Printable(r.Remark))
	}
	word := "FAILED"
	if !r.Needed {
		word = "failed"
	}
	if err := con.Say("%-40s %s: %s", r.Step, word, cli.Printable(r.Failed)); err != nil {
		return err
	}
	return con.Say("%-40s so %s", "", cli.Printable(r.Means))
}

// target returns a game and the server at a host.
func target(ctx context.Context, con *cli.Console, cfg *services.Config, name, to string) (*playtest.Target, error) {
	g, err := con.FindGame(ctx, cfg, name)
	if err != nil {
		return nil, err
	}
	at, err := addressOf(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	names, err := namesOf(g, cfg)
	if err != nil && len(g.Needs) == 0 { // others have a line in their settings
		return nil, err
	}
	ports, https := make(map[games.Service]uint16), uint16(443)
	for _, l := range cfg.Listeners() {
		s := games.Service(l.Service)
		_, text, err := net.SplitHostPort(l.Address)
		switch n, bad := strconv.ParseUint(text, 10, 16); {
		case err != nil || bad != nil:
		case l.Key == "webservices.tls_listen":
			https = uint16(n)
		case ports[s] == 0:
			ports[s] = uint16(n)
		}
	}
	if cfg.WebServices.NAS {
		ports["nas"] = ports["webservices"]
	}
	var steps []service.Play
	for _, e := range daemon.List(cfg) {
		steps = append(steps, e.Plays...)
	}
	return &playtest.Target{
		Game: g, Address: at, Names: names, Steps: steps,
		Port: func(s games.Service) uint16 { return ports[s] }, HTTPS: https,
		Built: func(s games.Service) bool { return daemon.Built(cfg)(s) != games.NotBuilt },
		Known: g.Outlooks(daemon.Built(cfg), nil),
		Lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
		},
	}, nil
}
