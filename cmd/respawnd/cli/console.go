// Package cli is what the commands of respawnd share: the [Console] that they read from and print to,
// how tables, lists and JSON look, the configuration, the way to the running daemon or the closed
// store, and how a command follows from an operation. It holds no command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/operator"
)

// A Console is what one command reads, where it prints, and what it was told about the daemon.
type Console struct {
	Env      []string
	In       io.Reader
	Out, Err io.Writer
	Config   string            // --config
	JSON     bool              // --json, of commands that show something
	Flags    map[string]string // configuration keys that were given as flags

	// SystemRoot is the folder with the etc and var of an installed service; empty: none
	// is looked for.
	SystemRoot string
	Release    string // that Version tells, with the commit

	// Connect returns where operations are carried out, and what ends its use.
	Connect func(context.Context, *services.Config) (operator.Conn, func() error, error)

	looked bool   // whether an installed service was looked for
	found  string // its configuration, which this command uses because no other was named
}

// New returns the console of one command.
func New(env []string, in io.Reader, out, errOut io.Writer) *Console {
	con := &Console{Env: env, In: in, Out: out, Err: errOut, Flags: make(map[string]string), Release: "dev"}
	con.Connect = con.connectStore
	return con
}

// usageError is a mistake on the command line itself.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Misused marks an error as a mistake on the command line itself.
func Misused(err error) error { return usageError{err} }

// reportedError has been printed already.
type reportedError struct{ error }

func (e reportedError) Unwrap() error { return e.error }

// Reported marks an error as one that was printed already.
func Reported(err error) error { return reportedError{err} }

// IsMisuse reports whether an error was marked by Misused.
func IsMisuse(err error) bool { return errors.As(err, new(usageError)) }

// IsReported reports whether an error was marked by Reported.
func IsReported(err error) bool { return errors.As(err, new(reportedError)) }

// nounKey is the annotation of a command that is about a noun.
const nounKey = "noun"

// About returns a command that is about a noun: the help lists it only where the noun exists.
func About(n noun.Noun, cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{nounKey: string(n)}
	return cmd
}

// NounOf returns what a command is about, "" if it is about nothing that may be missing.
func NounOf(cmd *cobra.Command) noun.Noun { return noun.Noun(cmd.Annotations[nounKey]) }

// Leaf returns a command that runs f.
func Leaf(use, short string, args cobra.PositionalArgs, f func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: Usage(args),
		RunE: func(cmd *cobra.Command, args []string) error { return f(cmd.Context(), args) },
	}
}

// Configured is Leaf for a command that needs the configuration.
func (con *Console) Configured(use, short string, args cobra.PositionalArgs,
	f func(ctx context.Context, cfg *services.Config, args []string) error,
) *cobra.Command {
	return Leaf(use, short, args, func(ctx context.Context, args []string) error {
		cfg, _, err := con.Load()
		if err != nil {
			return con.ListMistakes(err)
		}
		return f(ctx, cfg, args)
	})
}

// Group returns a command that only has subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	g.AddCommand(commands...)
	return g
}

// Usage turns the errors of an argument check into usage errors.
func Usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return Misused(err)
		}
		return nil
	}
}

// Load reads the configuration from flags, environment and file. A command that
// was given none of them uses that of the installed service.
func (con *Console) Load() (*services.Config, []string, error) {
	con.findInstalled()
	return services.Load(configs.Options{File: con.Config, Env: con.Env, Flags: con.Flags})
}

// ListMistakes prints one line per mistake.
func (con *Console) ListMistakes(err error) error {
	for _, e := range daemon.Mistakes(err) {
		_, _ = fmt.Fprintf(con.Err, "respawnd: %v\n", e)
	}
	return Reported(err)
}

// Version returns the release, and the commit that it was built from.
func (con *Console) Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return con.Release
	}
	commit, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			commit = "+" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".changed"
		}
	}
	return con.Release + commit + dirty
}
