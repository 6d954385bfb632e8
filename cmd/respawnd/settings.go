package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/configs"
	daemonlist "github.com/respawnd/respawnd/internal/daemon"
	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/operator"
)

// load reads the configuration as the flags and the environment say.
func (p *program) load() (*services.Config, []string, error) {
	return services.Load(configs.Options{File: p.config, Env: p.env, Flags: p.flags})
}

func (p *program) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration without starting anything",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, warnings, err := p.load()
			for _, w := range warnings {
				_, _ = fmt.Fprintf(p.err, "warning: %s\n", w)
			}
			if err != nil {
				return p.listMistakes(err)
			}
			if err := check(cfg, svc.OnCommand); err != nil {
				return p.listMistakes(err)
			}
			later, on := notBuilt(cfg)
			for _, key := range later {
				_, _ = fmt.Fprintf(p.err, "warning: %s: this service is not part of this version yet\n", key)
			}
			return p.say("the configuration is fine: %d services on, data in %s", on, cfg.DataDir)
		},
	}
}

// check returns the mistakes in the configuration, in the files that it names and
// in what it says of this machine.
func check(cfg *services.Config, when svc.Moment) error {
	errs := []error{checkDNS(cfg), checkDataDir(cfg)}
	for _, e := range daemonlist.List(cfg) {
		if e.Check != nil {
			errs = append(errs, e.Check(cfg.DataDir, when))
		}
	}
	if err := operator.CheckGamesFile(configs.Games, cfg.Games.File); err != nil {
		errs = append(errs, err)
	}
	if _, err := webhooks(cfg); err != nil {
		errs = append(errs, err)
	}
	if cfg.GeoIP.File != "" {
		db, err := openGeoIP(cfg.GeoIP.File)
		if err != nil {
			errs = append(errs, err)
		} else {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// checkDataDir refuses a data folder that is something else. One that is missing
// is made at the start.
func checkDataDir(cfg *services.Config) error {
	if info, err := os.Stat(cfg.DataDir); err == nil && !info.IsDir() {
		return fmt.Errorf("data_dir: %s is not a folder", cfg.DataDir)
	}
	return nil
}

// mistakes returns the single errors of a joined one. An error that adds words
// to those that it wraps stays whole.
func mistakes(err error) []error {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return []error{err}
	}
	var texts []string
	var out []error
	for _, e := range joined.Unwrap() {
		texts = append(texts, e.Error())
		out = append(out, mistakes(e)...)
	}
	if err.Error() != strings.Join(texts, "\n") {
		return []error{err}
	}
	return out
}

// listMistakes prints one line per mistake.
func (p *program) listMistakes(err error) error {
	for _, e := range mistakes(err) {
		_, _ = fmt.Fprintf(p.err, "respawnd: %v\n", e)
	}
	return reportedError{err}
}

func (p *program) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print every setting with its default and what it means",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := p.out.Write(configs.Default())
			return err
		},
	}
}

// logFormat finds out how to log before, or although, the configuration cannot
// be read: a program that reads our lines must be able to read that one too.
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
