package main

import (
	"context"
	"errors"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

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

// serve runs the daemon until ctx ends or a service fails. All it has to say
// goes to the log, one line per mistake.
func (p *program) serve(ctx context.Context) error {
	cfg, warnings, err := p.load()
	if err != nil {
		return report(newLogger(p.err, "", p.logFormat()), err, "configuration refused")
	}
	tail := logtail.New(cfg.Admin.LogLines)
	log, flush := newQueuedLogger(p.err, tail, cfg.Log.Level, cfg.Log.Format)
	defer flush()
	d := &daemon{
		cfg: cfg, log: log, tail: tail, console: isConsole(p.err, cfg.Log.Format), reload: p.load, notify: newNotifier(p.env),
	}
	d.warn(warnings)
	if err := d.open(ctx); err != nil {
		return report(log, errors.Join(err, d.close()), "not started")
	}
	err = d.run(ctx)
	if err := errors.Join(err, d.close()); err != nil {
		return report(log, err, "stopped by an error")
	}
	log.Info().Msg("stopped")
	return nil
}

// report logs every single mistake and marks the error as told.
func report(log zerolog.Logger, err error, msg string) error {
	for _, e := range mistakes(err) {
		log.Error().Err(e).Msg(msg)
	}
	return reportedError{err}
}
