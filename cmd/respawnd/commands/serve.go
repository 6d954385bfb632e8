package commands

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/internal/logtail"
)

const serveName = "serve"

func (p *program) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   serveName,
		Short: "Run the daemon in the foreground",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context()) },
	}
}

// serve runs the daemon until ctx ends or a service fails. Errors are logged,
// one line per mistake.
func (p *program) serve(ctx context.Context) error {
	p.SystemRoot = "" // the unit of the installed service names its configuration
	cfg, warnings, err := p.load()
	if err != nil {
		return report(newLogger(p.err, "", p.logFormat()), err, "configuration refused")
	}
	tail := logtail.New(cfg.Admin.LogLines)
	log, flush := newQueuedLogger(p.err, tail, cfg.Log.Level, cfg.Log.Format)
	defer flush()
	daemon.Warn(log, warnings)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // before readiness is announced
	defer signal.Stop(hup)
	d, err := daemon.Open(ctx, daemon.Options{
		Config: cfg, Load: p.reload, Version: Version(), Log: log, Tail: tail,
		Console: isConsole(p.err, cfg.Log.Format), Notify: daemon.NotifySocket(p.env), Reload: hup,
	})
	if err != nil {
		return report(log, err, "not started")
	}
	defer tuneCollector(ctx, p.env)() // data read at the start is garbage now
	if err := errors.Join(d.Run(ctx), d.Close()); err != nil {
		return report(log, err, "stopped by an error")
	}
	log.Info().Msg("stopped")
	return nil
}

// reload reads the configuration again.
func (p *program) reload() (daemon.Config, []string, error) {
	cfg, warnings, err := p.load()
	return cfg, warnings, err
}

// report logs every single mistake and marks the error as reported.
func report(log zerolog.Logger, err error, msg string) error {
	daemon.Report(log, err, msg)
	return reportedError{err}
}
