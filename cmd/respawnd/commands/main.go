// Package commands is the command line of respawnd: a file per command, and the
// wiring of the daemon in serve.go. It is a package of its own so that the tests
// of the whole program, in folder test, can run it in their process. It holds no
// protocol.
package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
)

// Exit codes of Main and Run.
const (
	ExitFailure = 1
	ExitUsage   = 2
)

// Main runs the program for its arguments and environment and returns its exit
// code. version is the release.
func Main(version string) int {
	release = version
	// Shown to users who double-click the program on Windows, until a key is
	// pressed.
	cobra.MousetrapHelpText = "respawnd is started from a terminal.\n\nFor a LAN party, double-click lan-party.cmd beside it.\n"
	cobra.MousetrapDisplayDuration = 0
	refuseCoreDumps()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	p := New(os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	p.SystemRoot = systemRoot
	defer stop()
	return p.Run(ctx, os.Args[1:])
}

// Program is the environment of a subcommand.
type program struct {
	env    []string
	in     io.Reader
	out    io.Writer
	err    io.Writer
	config string            // --config
	json   bool              // --json, of commands that show something
	flags  map[string]string // configuration keys that were given as flags

	// SystemRoot is the folder with the etc and var of an installed service; empty: none
	// is looked for.
	SystemRoot string

	looked  bool   // whether it was looked for
	found   string // its configuration, which this command uses because no other was named
	connect func(context.Context, *services.Config) (operator.Conn, func() error, error)
}

// New returns the environment of one command.
func New(env []string, in io.Reader, out, errOut io.Writer) *program {
	p := &program{env: env, in: in, out: out, err: errOut, flags: make(map[string]string)}
	p.connect = p.connectStore
	return p
}

// usageError is a mistake on the command line itself.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// reportedError has been printed already.
type reportedError struct{ err error }

func (e reportedError) Error() string { return e.err.Error() }
func (e reportedError) Unwrap() error { return e.err }

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
func (p *program) Run(ctx context.Context, args []string) int {
	root := p.Root()
	if slices.Contains(args, cobra.ShellCompRequestCmd) || slices.Contains(args, cobra.ShellCompNoDescRequestCmd) {
		completeArgs(root) // only for shells that ask: it visits the flags of all commands
	}
	root.SetArgs(args)
	root.SetOut(p.out)
	root.SetErr(p.err)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(reportedError)):
		p.sayFound()
		return ExitFailure
	case cmd.Name() == serveName && p.logFormat() == formatJSON:
		// Programs that start the daemon parse each of its lines.
		log := newLogger(p.err, "", formatJSON)
		log.Error().Err(err).Msg("not started")
		return exitCode(err)
	case errors.As(err, new(usageError)):
		_, _ = fmt.Fprintf(p.err, "respawnd: %v\nTry '%s --help'.\n", err, cmd.CommandPath())
	default:
		_, _ = fmt.Fprintf(p.err, "respawnd: %v\n", err)
		p.sayFound()
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if errors.As(err, new(usageError)) {
		return ExitUsage
	}
	return ExitFailure
}

func (p *program) Root() *cobra.Command {
	root := &cobra.Command{
		Use:           "respawnd",
		Short:         rootShort,
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringVar(&p.config, "config", "", "configuration file (YAML)")
	p.keyFlag(root, "data-dir", "data_dir", "folder of everything that survives a restart")
	p.keyFlag(root, "log-level", "log.level", "trace, debug, info, warn or error")
	p.keyFlag(root, "services", "services", "names of the services that run, such as zanmaster,web,admin; empty: all by default")
	p.keyFlag(root, "log-format", "log.format", "auto, console or json")
	root.AddCommand(
		p.serveCommand(), p.checkCommand(), p.configCommand(), p.versionCommand(),
		p.gameCommand(), p.banCommand(), of(noun.Accounts, p.accountCommand()), of(noun.Chat, p.chatCommand()), of(noun.Keys, p.cdkeyCommand()),
		of(noun.WebServices, p.webservicesCommand()), of(noun.Files, p.filesCommand()), of(noun.News, p.motdCommand()), of(noun.News, p.patchCommand()),
		of(noun.Stats, p.statsCommand()), of(noun.Stats, p.matchesCommand()), of(noun.Stats, p.sakeCommand()), p.serverCommand(), p.federationCommand(),
		of(noun.Relays, p.relayCommand()), of(noun.Meetings, p.meetingsCommand()), p.clusterCommand(), p.doctorCommand(),
		of(noun.Names, p.hostsCommand()), of(noun.Names, p.pointCommand()), of(noun.Meetings, p.checkNATCommand()), p.backupCommand(), p.restoreCommand(), p.storageCommand(), p.selftestCommand(),
		p.queryCommand(), p.auditCommand(), p.webhookCommand(),
	)
	root.AddCommand(buildCommands()...)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		p.hideAbsent(root)
		help(cmd, args)
	})
	return root
}

// nounKey is the annotation of a command that is about a noun.
const nounKey = "noun"

// of returns a command that is about a noun: the help lists it only where the noun exists.
func of(n noun.Noun, cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{nounKey: string(n)}
	return cmd
}

// hideAbsent removes from the help what is about services that the configuration switches
// off. A configuration that cannot be read removes nothing.
func (p *program) hideAbsent(root *cobra.Command) {
	cfg, _, err := p.load()
	if err != nil {
		return
	}
	nouns := daemon.Nouns(cfg)
	for _, cmd := range root.Commands() {
		cmd.Hidden = cmd.Hidden || !nouns.Has(noun.Noun(cmd.Annotations[nounKey]))
	}
	if !nouns.Has(noun.GameSpy) {
		root.Long = strings.Replace(root.Long, rootShort, "Lists game servers", 1)
	}
}

// keyFlag adds a flag that sets a configuration key.
func (p *program) keyFlag(cmd *cobra.Command, name, key, help string) {
	cmd.PersistentFlags().Func(name, help, func(value string) error {
		p.flags[key] = value
		return nil
	})
}

// usage turns the errors of an argument check into usage errors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
