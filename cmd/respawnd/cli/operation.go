package cli

import (
	"cmp"
	"context"
	"encoding"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Command returns the command of an operation: its word, help, arguments and flags follow from the
// operation and the tags of its input. say prints what was done.
func Command[In, Out any](con *Console, o *operator.Op[In, Out], say func(in In, out Out) error) *cobra.Command {
	return Looking(con, o, func(context.Context, operator.Conn, *In, []string) error { return nil }, say)
}

// Looking is Command for an operation of which look completes the input, with what arguments name.
func Looking[In, Out any](con *Console, o *operator.Op[In, Out],
	look func(ctx context.Context, c operator.Conn, in *In, args []string) error, say func(in In, out Out) error,
) *cobra.Command {
	in := new(In)
	return CommandOf(con, &o.Operation, in, func(ctx context.Context, c operator.Conn, args []string) error {
		if err := look(ctx, c, in, args); err != nil {
			return err
		}
		out, err := o.Call(ctx, c, *in)
		if err != nil {
			return err
		}
		return say(*in, out)
	})
}

// CommandOf is Command with a function of its own, which finds what was given in in. What in holds already is the default
// of flags without one.
func CommandOf(con *Console, o *operator.Operation, in any, run func(ctx context.Context, c operator.Conn, args []string) error) *cobra.Command {
	use, count := arguments(o)
	cmd := con.OperatorCommand(o.Name[strings.LastIndexByte(o.Name, ' ')+1:]+use, cmp.Or(o.Help, o.What), count, run)
	checks := append([]func([]string) error{func(args []string) error { return setArguments(o, in, args) }}, bindFlags(cmd.Flags(), o, in)...)
	yes := false
	if o.Destroys {
		cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	}
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		for _, check := range checks {
			if err := check(args); err != nil {
				return Misused(err)
			}
		}
		if o.Destroys && !yes { // before the store is opened: an answer takes long
			return con.Ask("%s: %s. Go on?", o.What, Printable(strings.Join(args, " ")))
		}
		return nil
	}
	return cmd
}

// ListOf is Command for an operation that returns a list, with --json: header and row as in Show.
func ListOf[In, T any](con *Console, o *operator.Op[In, []T], header string, row func(T) []string) *cobra.Command {
	return con.JSONFlag(Command(con, o, func(_ In, list []T) error { return Show(con, header, list, row) }))
}

// Showing is CommandOf with --json.
func Showing(con *Console, o *operator.Operation, in any, run func(ctx context.Context, c operator.Conn, args []string) error) *cobra.Command {
	return con.JSONFlag(CommandOf(con, o, in, run))
}

// arguments returns how the arguments of an operation are written, and the check of their number.
func arguments(o *operator.Operation) (use string, count cobra.PositionalArgs) {
	n := 0
	var counts []int // that are allowed: those before a bracket, and all
	for _, f := range o.Fields() {
		if f.Arg == "" {
			continue
		}
		use += " " + f.Arg
		if f.Arg[0] == '[' {
			counts = append(counts, n)
		}
		n++
	}
	counts = append(counts, n)
	switch {
	case strings.HasSuffix(use, "..."):
		return use, cobra.MinimumNArgs(counts[0])
	case n == 0:
		return use, cobra.NoArgs
	case len(counts) == 1:
		return use, cobra.ExactArgs(n)
	case len(counts) < n-counts[0]+1:
		return use, argCounts(counts)
	case counts[0] == 0:
		return use, cobra.MaximumNArgs(n)
	}
	return use, cobra.RangeArgs(counts[0], n)
}

// argCounts accepts the given numbers of arguments.
func argCounts(counts []int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if slices.Contains(counts, len(args)) {
			return nil
		}
		return fmt.Errorf("%d arguments: the command is %s", len(args), cmd.UseLine())
	}
}

func setArguments(o *operator.Operation, in any, args []string) error {
	for _, f := range o.Fields() {
		switch list, isList := f.Of(in).(*[]string); {
		case f.Arg == "" || len(args) == 0:
		case f.LookedUp:
			args = args[1:]
		case isList:
			*list, args = args, nil
		default:
			if err := f.Set(in, args[0]); err != nil {
				if f.Doc != "" {
					err = fmt.Errorf("%q is not %s", Printable(args[0]), f.Doc)
				}
				return err
			}
			args = args[1:]
		}
	}
	return nil
}

// errBanFor is the error for a ban without a positive length.
var errBanFor = errors.New("--for: must be longer than 0; leave it out for a ban without an end")

// bindFlags adds the flags of an operation, which set the fields of its input, and returns the
// checks of their values. Fields with a default but without a flag or an argument get it here.
func bindFlags(flags *pflag.FlagSet, o *operator.Operation, in any) (checks []func([]string) error) {
	for _, f := range o.Fields() {
		if f.Flag == "" {
			if f.Default != "" && f.Arg == "" {
				checks = append(checks, func([]string) error { return f.Set(in, f.Default) })
			}
			continue
		}
		if f.Needed {
			checks = append(checks, func([]string) error {
				if !flags.Changed(f.Flag) {
					return fmt.Errorf("--%s is missing: %s", f.Flag, f.Doc)
				}
				return nil
			})
		}
		switch v := f.Of(in).(type) {
		case *time.Time:
			span := flags.Duration(f.Flag, 0, f.Doc)
			checks = append(checks, func([]string) error {
				if *span > 0 {
					*v = time.Now().Add(*span)
				} else if flags.Changed(f.Flag) {
					return errBanFor
				}
				return nil
			})
		case encoding.TextUnmarshaler:
			text := flags.String(f.Flag, f.Default, f.Doc)
			checks = append(checks, func([]string) error {
				if *text == "" {
					return nil
				}
				if err := v.UnmarshalText([]byte(*text)); err != nil {
					return fmt.Errorf("--%s: %w", f.Flag, err)
				}
				return nil
			})
		default:
			bindFlag(flags, v, &f)
		}
	}
	return checks
}

// bindFlag adds a flag for a field of a plain type.
func bindFlag(flags *pflag.FlagSet, v any, f *operator.Field) {
	switch v := v.(type) {
	case *bool:
		flags.BoolVar(v, f.Flag, false, f.Doc)
	case *string:
		flags.StringVar(v, f.Flag, f.Default, f.Doc)
	case *int:
		if f.Default != "" {
			*v, _ = strconv.Atoi(f.Default)
		}
		flags.IntVar(v, f.Flag, *v, f.Doc)
	case *uint32:
		flags.Uint32Var(v, f.Flag, 0, f.Doc)
	case *storage.ProfileID:
		flags.Uint32Var((*uint32)(v), f.Flag, 0, f.Doc)
	default:
		panic(fmt.Sprintf("--%s: no flag is of type %T", f.Flag, v)) // any test that makes the command finds it
	}
}
