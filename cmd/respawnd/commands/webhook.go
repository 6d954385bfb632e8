package commands

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/webhook"
)

func webhookCommand(con *cli.Console) *cobra.Command {
	return cli.Group("webhook", "Show and test the webhooks", webhookList(con), webhookTest(con))
}

func webhookList(con *cli.Console) *cobra.Command {
	return con.JSONFlag(withWebhooks(con, "list", "Show the webhooks of the configuration, without their secrets", cobra.NoArgs,
		func(_ context.Context, cfg *services.Config, hooks []webhook.Hook, _ []string) error {
			list := make([]listedWebhook, len(hooks))
			for i, h := range hooks {
				w := cfg.Webhooks[i]
				list[i] = listedWebhook{Name: h.Name, Format: w.Format, Host: hostOf(h.URL), Events: w.Events, Games: w.Games, High: h.High, Low: h.Low}
			}
			return cli.Show(con, "name…\tformat\thost…\tevents…\tgames…\tplayers", list, func(h listedWebhook) []string {
				players := "-"
				if h.High > 0 {
					players = fmt.Sprintf("%d, again at %d", h.High, h.Low)
				}
				return []string{h.Name, h.Format, h.Host, orAll(h.Events), orAll(h.Games), players}
			})
		}))
}

// withWebhooks is Configured for a command that needs the webhooks and their files.
func withWebhooks(con *cli.Console, use, short string, args cobra.PositionalArgs,
	f func(context.Context, *services.Config, []webhook.Hook, []string) error,
) *cobra.Command {
	return con.Configured(use, short, args, func(ctx context.Context, cfg *services.Config, args []string) error {
		hooks, err := webhook.Hooks(cfg.Webhooks)
		if err != nil {
			return con.ListMistakes(err)
		}
		return f(ctx, cfg, hooks, args)
	})
}

// listedWebhook is a webhook in the list, without secrets.
type listedWebhook struct {
	Name   string   `json:"name"`
	Format string   `json:"format"`
	Host   string   `json:"host"`
	Events []string `json:"events,omitempty"` // none: all
	Games  []string `json:"games,omitempty"`  // none: all
	High   int      `json:"players_high,omitzero"`
	Low    int      `json:"players_low,omitzero"`
}

// hostOf returns the host of a URL, which is not secret.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "-"
	}
	return cli.Dash(u.Host)
}

func orAll(list []string) string {
	if len(list) == 0 {
		return "all"
	}
	return cli.Printable(strings.Join(list, ", "))
}

func webhookTest(con *cli.Console) *cobra.Command {
	var every bool
	cmd := withWebhooks(con, "test NAME | --all", "Send a test to a webhook of the configuration", cobra.MaximumNArgs(1),
		func(ctx context.Context, _ *services.Config, hooks []webhook.Hook, args []string) error {
			return tryWebhooks(ctx, con, hooks, args)
		})
	cmd.Long = cmd.Short + ".\n\nThe command sends it itself, with the configuration as it is written now, " +
		"so that\na receiver can be tried before the daemon reads it (SIGHUP) or starts."
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		if every == (len(args) == 1) {
			return cli.Misused(errors.New("say which webhook, or --all"))
		}
		return nil
	}
	cmd.Flags().BoolVar(&every, "all", false, "all of them")
	return cmd
}

// tryWebhooks sends a test to the hooks with the names, or to all if there are
// no names, and prints the results.
func tryWebhooks(ctx context.Context, con *cli.Console, hooks []webhook.Hook, names []string) error {
	tried, failed := 0, 0
	for _, h := range hooks {
		if len(names) > 0 && h.Name != names[0] {
			continue
		}
		tried++
		took, err := webhook.Try(ctx, h, con.Version())
		if err != nil {
			failed++
			_, _ = fmt.Fprintf(con.Err, "respawnd: %v\n", err)
			continue
		}
		if err := con.Say("%s: delivered in %v", h.Name, took.Round(time.Millisecond)); err != nil {
			return err
		}
	}
	switch {
	case tried == 0 && len(names) > 0:
		return fmt.Errorf("webhooks has no entry %q", names[0])
	case tried == 0:
		return errors.New("webhooks has no entries")
	case failed > 0:
		return cli.Reported(fmt.Errorf("%d of %d webhooks failed", failed, tried))
	}
	return nil
}
