package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	work := func() error { return run(ctx, os.Args[1:], os.Stdout) }
	if os.Getenv(echoVariable) != "" {
		work = func() error { return echo(ctx, os.Stderr) }
	}
	if err := work(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "load:", err)
		code := 1
		if errors.Is(err, errUsage) {
			code = 2
		}
		stop()
		os.Exit(code) // this is the end of the program
	}
}

var errUsage = errors.New("usage: load soak|table|relay|federation|limit|scale|cluster [flags]; -h after each lists them")

// run runs the command of the arguments.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	program := flags.String("program", "", "the respawnd to measure; empty: it is built")
	parse := func() error {
		if err := flags.Parse(args[1:]); err != nil || flags.NArg() > 0 {
			return errors.Join(errUsage, err)
		}
		return nil
	}
	switch args[0] {
	case "soak":
		opt := soakOptions{}
		flags.DurationVar(&opt.length, "for", time.Hour, "how long")
		flags.DurationVar(&opt.every, "every", time.Minute, "time between two lines")
		flags.Float64Var(&opt.scale, "rate", 1, "how many times the usual load, which takes about a sixth of a core")
		if err := parse(); err != nil {
			return err
		}
		return withProgram(ctx, *program, func(path string) error {
			opt.program = path
			return soak(ctx, out, opt)
		})
	case "table":
		opt := tableOptions{}
		flags.DurationVar(&opt.length, "for", 2*time.Second, "how long each loop of each operation runs")
		flags.StringVar(&opt.only, "only", "", "only operations whose name contains this, beside the references; several with commas between")
		if err := parse(); err != nil {
			return err
		}
		return withProgram(ctx, *program, func(path string) error {
			opt.program = path
			return table(ctx, out, opt)
		})
	case "relay":
		opt := relayOptions{}
		flags.DurationVar(&opt.length, "for", 10*time.Second, "how long each part runs")
		flags.IntVar(&opt.pairs, "pairs", 500, "relayed pairs")
		flags.IntVar(&opt.rate, "rate", 60, "packets per second of each player")
		flags.IntVar(&opt.hosts, "hosts", 50, "game servers with ten heartbeats per second each")
		if err := parse(); err != nil {
			return err
		}
		return withProgram(ctx, *program, func(path string) error {
			opt.program = path
			return relayed(ctx, out, opt)
		})
	case "federation":
		opt := federationOptions{}
		flags.DurationVar(&opt.length, "for", 2*time.Minute, "how long each of two daemons is measured")
		flags.IntVar(&opt.masters, "masters", 20, "other masters, at most 64")
		flags.IntVar(&opt.servers, "servers", 5000, "servers of each")
		if err := parse(); err != nil {
			return err
		}
		return withProgram(ctx, *program, func(path string) error {
			opt.program = path
			return federated(ctx, out, opt)
		})
	case "limit":
		opt := limitOptions{}
		flags.DurationVar(&opt.length, "for", 2*time.Second, "how long each loop runs")
		flags.DurationVar(&opt.openLoop, "open", 10*time.Second, "how long the open loop runs")
		flags.StringVar(&opt.only, "only", "", "only parts whose name contains this: "+limitNames())
		flags.Float64Var(&opt.scale, "scale", 1, "times the full numbers of servers, players and accounts; goals are for 1")
		flags.IntVar(&opt.accounts, "accounts", 1_000_000, "stored accounts of the start; each takes 1.2 KiB of disk")
		if err := parse(); err != nil {
			return err
		}
		return withProgram(ctx, *program, func(path string) error {
			opt.program = path
			return limit(ctx, out, opt)
		})
	case "scale":
		opt := scaleOptions{}
		flags.DurationVar(&opt.length, "for", 20*time.Second, "how long each line is measured")
		flags.Float64Var(&opt.scale, "scale", 1, "times the full numbers of servers and players")
		flags.StringVar(&opt.write, "write", "", "the document whose section is replaced; empty: it is written to the standard output")
		if err := parse(); err != nil {
			return err
		}
		return withProgram(ctx, *program, func(path string) error {
			opt.program = path
			return curve(ctx, out, opt)
		})
	case "cluster":
		opt := clusterOptions{}
		flags.DurationVar(&opt.length, "for", 10*time.Second, "how long each part runs")
		flags.IntVar(&opt.rounds, "rounds", 3, "how often heartbeats and messages are measured, lone node and cluster in turn")
		flags.IntVar(&opt.servers, "servers", 50_000, "listed servers, at most 65000")
		flags.IntVar(&opt.changes, "changes", 1700, "servers that change per second")
		flags.IntVar(&opt.fresh, "fresh", 20, "new servers per second beside them")
		flags.IntVar(&opt.pairs, "pairs", 20, "buddies on two nodes, who write 200 messages per second together")
		if err := parse(); err != nil {
			return err
		}
		return withProgram(ctx, *program, func(path string) error {
			opt.program = path
			return clustered(ctx, out, opt)
		})
	default:
		return errUsage
	}
}

// withProgram calls f with the path of respawnd, which is built from the module
// two folders up if none is given.
func withProgram(ctx context.Context, path string, f func(string) error) error {
	if path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		return f(path)
	}
	dir, err := os.MkdirTemp("", "respawnd-load-program")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path = filepath.Join(dir, "respawnd")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/respawnd") // a path of our own
	build.Dir = filepath.Join("..", "..")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return f(path)
}
