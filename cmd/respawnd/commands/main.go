// Package commands is the command line of respawnd: it puts the commands of the packages beside it
// together with its own, which run the daemon, test it, and work on its configuration and its data
// folder. It is apart from package main so that the tests of the whole program, in folder test, can
// run it in their process. It holds no protocol and no operation.
package commands

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/cmd/respawnd/operations"
	"github.com/respawnd/respawnd/cmd/respawnd/players"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/noun"
)

// Exit codes of Main and Run.
const (
	ExitFailure = 1
	ExitUsage   = 2
)

// Main runs the program for its arguments and environment and returns its exit
// code. version is the release.
func Main(version string) int {
	// Shown to users who double-click the program on Windows, until a key is
	// pressed.
	cobra.MousetrapHelpText = "respawnd is started from a terminal.\n\nFor a LAN party, double-click lan-party.cmd beside it.\n"
	cobra.MousetrapDisplayDuration = 0
	refuseCoreDumps()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	con := cli.New(os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	con.SystemRoot, con.Release = cli.SystemRoot, version
	defer stop()
	return Run(ctx, con, os.Args[1:])
}

// rootShort is what the program is for.
const rootShort = "Brings the multiplayer of GameSpy-era games back"

const rootHelp = rootShort + `.

"respawnd serve" runs the daemon. The other commands work while it runs and, but
for those about live servers, while it does not. They find it by its settings:
give them the same --config, variables (RESPAWND_...) and flags. Without any of
these they use those of the installed service, /etc/respawnd/respawnd.yaml, if
its data folder exists.

Exit codes: 0 done; 1 not done, standard error says why; 2 the command line is
wrong.`

// Run executes one command line and returns the exit code.
func Run(ctx context.Context, con *cli.Console, args []string) int {
	return run(ctx, con, Root(con), args)
}

// run executes a command line of root.
func run(ctx context.Context, con *cli.Console, root *cobra.Command, args []string) int {
	if slices.Contains(args, cobra.ShellCompRequestCmd) || slices.Contains(args, cobra.ShellCompNoDescRequestCmd) {
		completeArgs(root) // only for shells that ask: it visits the flags of all commands
	}
	root.SetArgs(args)
	root.SetOut(con.Out)
	root.SetErr(con.Err)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case cli.IsReported(err):
		con.SayFound()
		return ExitFailure
	case cmd.Name() == serveName && logFormat(con) == formatJSON:
		// Programs that start the daemon parse each of its lines.
		log := newLogger(con.Err, "", formatJSON)
		log.Error().Err(err).Msg("not started")
		return exitCode(err)
	case cli.IsMisuse(err):
		_, _ = fmt.Fprintf(con.Err, "respawnd: %v\nTry '%s --help'.\n", err, cmd.CommandPath())
	default:
		_, _ = fmt.Fprintf(con.Err, "respawnd: %v\n", err)
		con.SayFound()
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if cli.IsMisuse(err) {
		return ExitUsage
	}
	return ExitFailure
}

// Root returns the program as a command with all others below it.
func Root(con *cli.Console) *cobra.Command {
	root := cli.Group("respawnd", rootShort)
	root.Long, root.SilenceErrors, root.SilenceUsage = rootHelp, true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Misused(err) })
	root.PersistentFlags().StringVar(&con.Config, "config", "", "configuration file (YAML)")
	keyFlag(con, root, "data-dir", "data_dir", "folder of everything that survives a restart")
	keyFlag(con, root, "log-level", "log.level", "trace, debug, info, warn or error")
	keyFlag(con, root, "services", "services", "names of the services that run, such as zanmaster,web,admin; empty: all by default")
	keyFlag(con, root, "log-format", "log.format", "auto, console or json")
	root.AddCommand(
		serveCommand(con), mirrorCommand(con), snapshotCommand(con), checkCommand(con), configCommand(con), versionCommand(con), restoreCommand(con), storageCommand(con), selftestCommand(con),
		webhookCommand(con), serviceCommand(con, openServices), cli.About(noun.WebServices, webservicesCommand(con)),
	)
	root.AddCommand(operations.Commands(con)...)
	root.AddCommand(players.Commands(con)...)
	root.AddCommand(buildCommands(con)...)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		hideAbsent(con, root)
		addExamples(root)
		help(cmd, args)
	})
	return root
}

// hideAbsent removes from the help what is about services that the configuration switches
// off. A configuration that cannot be read removes nothing.
func hideAbsent(con *cli.Console, root *cobra.Command) {
	cfg, _, err := con.Load()
	if err != nil {
		return
	}
	nouns := daemon.Nouns(cfg)
	for _, cmd := range root.Commands() {
		cmd.Hidden = cmd.Hidden || !nouns.Has(cli.NounOf(cmd))
	}
	if !nouns.Has(noun.GameSpy) {
		root.Long = strings.Replace(root.Long, rootShort, "Lists game servers", 1)
	}
}

// keyFlag adds a flag that sets a configuration key.
func keyFlag(con *cli.Console, cmd *cobra.Command, name, key, help string) {
	cmd.PersistentFlags().Func(name, help, func(value string) error {
		con.Flags[key] = value
		return nil
	})
}
