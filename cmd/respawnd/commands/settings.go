package commands

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/engine"

	svc "github.com/respawnd/respawnd/internal/service"
	"github.com/respawnd/respawnd/operator"
)

func checkCommand(con *cli.Console) *cobra.Command {
	return cli.Leaf("check", "Check the configuration without starting anything", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		cfg, warnings, err := con.Load()
		warn := func(format string, args ...any) { _, _ = fmt.Fprintf(con.Err, "warning: "+format+"\n", args...) }
		for _, w := range warnings {
			warn("%s", w)
		}
		if err == nil {
			err = daemon.Check(cfg, svc.OnCommand)
		}
		if err == nil {
			err = checkStore(ctx, con, cfg)
		}
		if err != nil {
			return con.ListMistakes(err)
		}
		for _, key := range daemon.Missing(cfg) {
			warn("%s: this service is not part of this version yet", key)
		}
		if err := sayFocus(con, cfg); err != nil {
			return err
		}
		for _, s := range configs.Samples(cfg) {
			warn("%s", s)
		}
		return con.Say("the configuration%s is fine: %d services on, data in %s", con.InFound(), servicesOn(cfg), cfg.DataDir)
	})
}

// checkStore connects to the database, if there is one, and prints its state.
func checkStore(ctx context.Context, con *cli.Console, cfg *services.Config) error {
	summary, err := engine.Check(ctx, cfg.Storage, newLogger(con.Err, "warn", cfg.Log.Format))
	if err != nil || summary == "" {
		return err
	}
	return con.Say("%s", summary)
}

// sayFocus prints what is known of playing the games of games.focus here.
func sayFocus(con *cli.Console, cfg *services.Config) error {
	catalogue, err := operator.ReadGames(cfg.Games.File)
	if err != nil || len(cfg.Games.Focus) == 0 {
		return err
	}
	served := daemon.Served(cfg)
	for _, name := range cfg.Games.Focus {
		g, known := catalogue.Lookup(name)
		if !known {
			_, _ = fmt.Fprintf(con.Err, "warning: games.focus: %s is not a built-in game\n", cli.Printable(name))
			continue
		}
		for _, line := range g.Says(served, nil) {
			if err := con.Say("%s: %s", g.Name, cli.Printable(line)); err != nil {
				return err
			}
		}
		if g.AsksHTTPS() && cfg.WebServices.TLSListen == "" {
			_, _ = fmt.Fprintf(con.Err, "warning: %s asks web services over https: webservices.tls_listen is off\n", g.Name)
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

func configCommand(con *cli.Console) *cobra.Command {
	return cli.Leaf("config", "Print every setting with its default and its meaning", cobra.NoArgs, func(context.Context, []string) error {
		_, err := con.Out.Write(configs.Default())
		return err
	})
}

func versionCommand(con *cli.Console) *cobra.Command {
	return cli.Leaf("version", "Print the version", cobra.NoArgs, func(context.Context, []string) error {
		return con.Say("respawnd %s (%s, %s/%s)", con.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	})
}

// logFormat returns the format of the log if the configuration cannot be read:
// programs that read the log must be able to read that error too.
func logFormat(con *cli.Console) string {
	if v, ok := con.Flags["log.format"]; ok {
		return v
	}
	format := ""
	if con.Config != "" {
		if b, err := os.ReadFile(con.Config); err == nil {
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
	for _, v := range con.Env {
		if len(v) >= len(name) && v[:len(name)] == name {
			format = v[len(name):]
		}
	}
	return format
}
