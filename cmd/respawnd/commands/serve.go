package commands

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/logtail"
)

const serveName = "serve"

func serveCommand(con *cli.Console) *cobra.Command {
	return cli.Leaf(serveName, "Run the daemon in the foreground", cobra.NoArgs,
		func(ctx context.Context, _ []string) error { return serve(ctx, con) })
}

// serve runs the daemon in the foreground, perhaps for systemd.
func serve(ctx context.Context, con *cli.Console) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // before readiness is announced
	defer signal.Stop(hup)
	return serveFor(ctx, con, daemon.Systemd(con.Env), hup)
}

// serveFor runs the daemon until ctx ends or a service fails; each value of reload makes it
// reload. Errors are logged, one line per mistake.
func serveFor(ctx context.Context, con *cli.Console, notify daemon.Notify, reload <-chan os.Signal) error {
	con.SystemRoot = "" // the unit of the installed service names its configuration
	cfg, warnings, err := con.Load()
	if err != nil {
		return report(newLogger(con.Err, "", logFormat(con)), err, "configuration refused")
	}
	tail := logtail.New(cfg.Admin.LogLines)
	log, flush := newQueuedLogger(con.Err, tail, cfg.Log.Level, cfg.Log.Format)
	defer flush()
	daemon.Warn(log, warnings)
	d, err := daemon.Open(ctx, daemon.Options{
		Config: cfg, Load: func() (daemon.Config, []string, error) { return con.Load() }, Version: con.Version(), Log: log, Tail: tail,
		Console: isConsole(con.Err, cfg.Log.Format), Notify: notify, Reload: reload,
	})
	if err != nil {
		return report(log, err, "not started")
	}
	defer tuneCollector(ctx, con.Env)() // data read at the start is garbage now
	if err := errors.Join(d.Run(ctx), d.Close()); err != nil {
		return report(log, err, "stopped by an error")
	}
	log.Info().Msg("stopped")
	return nil
}

// report logs every single mistake and marks the error as reported.
func report(log zerolog.Logger, err error, msg string) error {
	daemon.Report(log, err, msg)
	return cli.Reported(err)
}
