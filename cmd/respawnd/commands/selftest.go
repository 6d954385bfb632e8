package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/admin"
	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/selftest"
	"github.com/respawnd/respawnd/daemon/services"

	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

func selftestCommand(con *cli.Console) *cobra.Command {
	quick := false
	cmd := con.Configured("selftest", "Play a game server and players against the running daemon", cobra.NoArgs,
		func(ctx context.Context, cfg *services.Config, _ []string) error {
			return runSelftest(ctx, con, cfg, quick)
		})
	cmd.Long = `Plays a game server and players against the sockets of the running daemon, and
reports the result for each service. Five accounts and a match are made and deleted
again, which the audit log shows; --quick leaves that out and changes nothing that lasts,
for a health check that runs every minute.`
	cmd.Flags().BoolVar(&quick, "quick", false, "make no accounts")
	return cmd
}

func runSelftest(ctx context.Context, con *cli.Console, cfg *services.Config, quick bool) error {
	if at := cfg.Admin.Listen; at != "" && !admin.Answers(ctx, at) {
		return fmt.Errorf("no daemon answers at %s: start one with respawnd serve", at)
	}
	t, err := newTrial(cfg)
	if err != nil {
		return err
	}
	if op, err := cli.Remote(cfg); err == nil {
		if status, err := operator.GetStatus.Call(ctx, op, operator.None{}); err == nil {
			t.Address = present(t.Address, daemon.List(cfg), status.Services)
		}
	}
	failed, err := selftest.Run(ctx, t, steps(cfg), quick, func(step, result string) error {
		return con.Say("%-22s %s", step, result)
	})
	if err == nil {
		err = sayFocus(con, cfg)
	}
	if err == nil && failed > 0 {
		err = cli.Reported(fmt.Errorf("%d tests failed", failed))
	}
	return err
}

// present returns the addresses without those of services that the running daemon
// left out: running holds its services.
func present(address func(string) string, entries []daemon.Entry, running map[string]string) func(string) string {
	absent := make(map[string]bool)
	for _, e := range entries {
		_, runs := running[e.Name]
		absent[e.Name] = e.Optional && !runs
	}
	return func(service string) string {
		if absent[service] {
			return ""
		}
		return address(service)
	}
}

// steps returns the steps of all services in the order in which these start.
func steps(cfg *services.Config) (all []svc.Step) {
	private := false
	for _, e := range daemon.List(cfg) {
		all = append(all, e.Steps...)
		private = private || e.Private
	}
	return append(all, selftest.Presence(private)...)
}

func newTrial(cfg *services.Config) (*svc.Trial, error) {
	catalog, err := operator.ReadGames("")
	if err != nil {
		return nil, err
	}
	g, _ := catalog.Lookup(selftest.Game)
	addresses := make(map[string]string)
	for _, l := range cfg.Listeners() {
		for _, name := range []string{l.Service, l.Key} {
			if addresses[name] == "" {
				addresses[name] = dialable(l.Address)
			}
		}
	}
	if cfg.Relay.Enabled {
		addresses["relay"] = cfg.Relay.Ports // it has no address until players need it
	}
	return &svc.Trial{
		Game: selftest.Game, Secret: g.Secret(), Name: selftest.Name(), Domain: cfg.Games.Domains[0],
		DataDir: cfg.DataDir,
		Address: func(service string) string { return addresses[service] },
		Accounts: func(context.Context) (svc.TrialAccounts, error) {
			op, err := cli.Remote(cfg)
			return trialAccounts{op}, err
		},
	}, nil
}

// dialable turns a listen address into one that can be reached from here.
func dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if a, err := netip.ParseAddr(host); host == "" || (err == nil && a.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// trialAccounts are the accounts of the running daemon.
type trialAccounts struct{ op operator.Conn }

func (a trialAccounts) Exists(ctx context.Context, email string) (bool, error) {
	_, err := operator.FindAccount.Call(ctx, a.op, operator.AccountRef{Email: email})
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (a trialAccounts) Delete(ctx context.Context, email string) error {
	ctx = operator.WithActor(ctx, cli.Actor())
	found, err := operator.FindAccount.Call(ctx, a.op, operator.AccountRef{Email: email})
	if err != nil {
		return err
	}
	return operator.DeleteAccount.Exec(ctx, a.op, operator.AccountID{ID: found.ID})
}

func (a trialAccounts) DeleteMatch(ctx context.Context, game, session string) error {
	ctx = operator.WithActor(ctx, cli.Actor())
	list, err := operator.ListMatches.Call(ctx, a.op, operator.MatchQuery{Game: game})
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Session == session {
			return operator.DeleteMatch.Exec(ctx, a.op, operator.MatchRef{ID: uint32(list[i].ID)})
		}
	}
	return storage.ErrNotFound
}
