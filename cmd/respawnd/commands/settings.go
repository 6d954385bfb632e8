package commands

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/engine"
	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
)

// load reads the configuration from flags, environment and file. A command that
// was given none of them uses that of the installed service.
func (p *program) load() (*services.Config, []string, error) {
	p.findInstalled()
	return services.Load(configs.Options{File: p.config, Env: p.env, Flags: p.flags})
}

func (p *program) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration without starting anything",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, warnings, err := p.load()
			for _, w := range warnings {
				_, _ = fmt.Fprintf(p.err, "warning: %s\n", w)
			}
			if err != nil {
				return p.listMistakes(err)
			}
			if err := daemon.Check(cfg, svc.OnCommand); err != nil {
				return p.listMistakes(err)
			}
			if err := p.checkStore(cmd.Context(), cfg); err != nil {
				return p.listMistakes(err)
			}
			for _, key := range daemon.Missing(cfg) {
				_, _ = fmt.Fprintf(p.err, "warning: %s: this service is not part of this version yet\n", key)
			}
			if err := p.sayFocus(cfg); err != nil {
				return err
			}
			for _, s := range configs.Samples(cfg) {
				_, _ = fmt.Fprintf(p.err, "warning: %s\n", s)
			}
			return p.say("the configuration%s is fine: %d services on, data in %s", p.inFound(), servicesOn(cfg), cfg.DataDir)
		},
	}
}

// checkStore connects to the database, if there is one, and prints its state.
func (p *program) checkStore(ctx context.Context, cfg *services.Config) error {
	summary, err := engine.Check(ctx, cfg.Storage, newLogger(p.err, "warn", cfg.Log.Format))
	if err != nil || summary == "" {
		return err
	}
	return p.say("%s", summary)
}

// sayFocus prints whether the games of games.focus can be played here.
func (p *program) sayFocus(cfg *services.Config) error {
	catalogue, err := operator.ReadGames(cfg.Games.File)
	if err != nil || len(cfg.Games.Focus) == 0 {
		return err
	}
	served := daemon.Served(cfg)
	for _, name := range cfg.Games.Focus {
		g, known := catalogue.Lookup(name)
		if !known {
			_, _ = fmt.Fprintf(p.err, "warning: games.focus: %s is not a built-in game\n", printable(name))
			continue
		}
		if err := p.say("%s: %s", g.Name, g.Standing(served)); err != nil {
			return err
		}
	}
	return nil
}

// servicesOn returns how many services listen that are part of this version.
func servicesOn(cfg *services.Config) int {
	built := make(map[string]bool)
	for _, e := range daemon.List(cfg) {
		built[e.Name] = true
	}
	on := make(map[string]bool)
	for _, l := range cfg.Listeners() {
		if built[l.Service] { // it may have several addresses
			on[l.Service] = true
		}
	}
	return len(on)
}

// listMistakes prints one line per mistake.
func (p *program) listMistakes(err error) error {
	for _, e := range daemon.Mistakes(err) {
		_, _ = fmt.Fprintf(p.err, "respawnd: %v\n", e)
	}
	return reportedError{err}
}

func (p *program) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print every setting with its default and its meaning",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := p.out.Write(configs.Default())
			return err
		},
	}
}

// logFormat returns the format of the log if the configuration cannot be read:
// programs that read the log must be able to read that error too.
func (p *program) logFormat() string {
	if v, ok := p.flags["log.format"]; ok {
		return v
	}
	format := ""
	if p.config != "" {
		if b, err := os.ReadFile(p.config); err == nil {
			var doc struct {
				Log struct {
					Format string `yaml:"format"`
				} `yaml:"log"`
			}
			if yaml.Unmarshal(b, &doc) == nil {
				format = doc.Log.Format
			}
		}
	}
	const name = configs.EnvPrefix + "LOG_FORMAT="
	for _, v := range p.env {
		if len(v) >= len(name) && v[:len(name)] == name {
			format = v[len(name):]
		}
	}
	return format
}
