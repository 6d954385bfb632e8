package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/services"
	"github.com/respawnd/respawnd/webhook"
)

// maxHookFile is the size in bytes of the largest file with a URL or a secret.
const maxHookFile = 4 << 10

// webhooks returns the hooks of a configuration, with what their files hold.
func webhooks(cfg *services.Config) (hooks []webhook.Hook, err error) {
	var errs []error
	for _, w := range cfg.Webhooks {
		h, err := hook(w)
		if err != nil {
			errs = append(errs, fmt.Errorf("webhooks: %s: %w", w.Name, err))
		}
		hooks = append(hooks, h)
	}
	return hooks, errors.Join(errs...)
}

func hook(w configs.Webhook) (webhook.Hook, error) {
	h := webhook.Hook{
		Name: w.Name, URL: string(w.URL), Secret: string(w.Secret), Games: w.Games,
		High: w.PlayersHigh, Low: w.PlayersLow, Allow: w.Allow,
	}
	if w.Format == "discord" {
		h.Format = webhook.Discord
	}
	for _, e := range w.Events {
		h.Kinds = append(h.Kinds, kinds(e)...)
	}
	if w.URLFile != "" {
		text, err := readHookFile(w.URLFile)
		if err != nil {
			return h, fmt.Errorf("url_file: %w", err)
		}
		u, err := configs.ParseWebhookURL(text)
		if err != nil {
			return h, fmt.Errorf("url_file: %s: %w", w.URLFile, err)
		}
		h.URL = string(u)
	}
	if w.SecretFile != "" {
		text, err := readHookFile(w.SecretFile)
		if err != nil {
			return h, fmt.Errorf("secret_file: %w", err)
		}
		if err := configs.CheckWebhookSecret(configs.Secret(text)); err != nil {
			return h, fmt.Errorf("secret_file: %s: %w", w.SecretFile, err)
		}
		h.Secret = text
	}
	return h, nil
}

// kinds returns the kinds of a word in the configuration.
func kinds(word string) []webhook.Kind {
	switch word {
	case "up":
		return []webhook.Kind{webhook.ServerUp}
	case "down":
		return []webhook.Kind{webhook.ServerDown}
	case "players":
		return []webhook.Kind{webhook.PlayersHigh, webhook.PlayersLow}
	default:
		return []webhook.Kind{webhook.BanAdded, webhook.BanRemoved}
	}
}

// readHookFile returns the text of a file without spaces and line ends around it.
func readHookFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > maxHookFile {
		return "", fmt.Errorf("%s: larger than %d bytes", path, maxHookFile)
	}
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

// openWebhooks makes what tells the webhooks; it watches once the daemon runs.
func (d *daemon) openWebhooks() error {
	hooks, err := webhooks(d.cfg)
	if err != nil {
		return err
	}
	d.webhooks = webhook.New(webhook.Options{
		Registry: d.registry, Addresses: d.addresses, Bans: d.bansInForce, Hooks: hooks, Version: version(),
		Title: func(game string) string {
			if g, ok := d.catalogue.Catalog().Lookup(game); ok && g.Title != "" {
				return g.Title
			}
			return game
		},
		Log:     d.log.With().Str("service", "webhook").Logger(),
		Metrics: netserve.NewMetrics(d.metrics, "webhook", webhook.DropReasons()...), Registerer: d.metrics,
	})
	d.bans.OnChange(d.webhooks.BansChanged)
	return nil
}

func (p *program) webhookCommand() *cobra.Command {
	return group("webhook", "Look at the webhooks and try them", p.webhookList(), p.webhookTest())
}

func (p *program) webhookList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show the webhooks of the configuration, without their secrets",
		Args:  usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			cfg, hooks, err := p.loadWebhooks()
			if err != nil {
				return err
			}
			var rows [][]string
			for i, h := range hooks {
				w, players := cfg.Webhooks[i], "-"
				if h.High > 0 {
					players = fmt.Sprintf("%d, again at %d", h.High, h.Low)
				}
				rows = append(rows, []string{h.Name, w.Format, hostOf(h.URL), orAll(w.Events), orAll(h.Games), players})
			}
			return p.table("name\tformat\thost\tevents\tgames\tplayers", rows)
		},
	}
}

// hostOf returns the host of a URL, which is no secret.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "-"
	}
	return dash(u.Host)
}

func orAll(list []string) string {
	if len(list) == 0 {
		return "all"
	}
	return printable(strings.Join(list, ", "))
}

func (p *program) webhookTest() *cobra.Command {
	var every bool
	cmd := &cobra.Command{
		Use:   "test NAME | --all",
		Short: "Send a test to a webhook of the configuration",
		Long: "Send a test to a webhook of the configuration.\n\nThe command sends it itself, with the configuration as it is written now, " +
			"so that\na receiver can be tried before the daemon is told of it (SIGHUP) or started.",
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if every == (len(args) == 1) {
				return usageError{errors.New("say which webhook, or --all")}
			}
			_, hooks, err := p.loadWebhooks()
			if err != nil {
				return err
			}
			return p.tryWebhooks(cmd.Context(), hooks, args)
		},
	}
	cmd.Flags().BoolVar(&every, "all", false, "all of them")
	return cmd
}

// tryWebhooks sends a test to the hooks with the names, or to all if there are no
// names, and says how it went.
func (p *program) tryWebhooks(ctx context.Context, hooks []webhook.Hook, names []string) error {
	tried, failed := 0, 0
	for _, h := range hooks {
		if len(names) > 0 && h.Name != names[0] {
			continue
		}
		tried++
		took, err := webhook.Try(ctx, h, version())
		if err != nil {
			failed++
			_, _ = fmt.Fprintf(p.err, "respawnd: %v\n", err)
			continue
		}
		if err := p.say("%s: delivered in %v", h.Name, took.Round(time.Millisecond)); err != nil {
			return err
		}
	}
	switch {
	case tried == 0 && len(names) > 0:
		return fmt.Errorf("webhooks has no entry %q", names[0])
	case tried == 0:
		return errors.New("webhooks has no entries")
	case failed > 0:
		return reportedError{fmt.Errorf("%d of %d webhooks failed", failed, tried)}
	}
	return nil
}

// loadWebhooks reads the configuration and the files of its webhooks.
func (p *program) loadWebhooks() (*services.Config, []webhook.Hook, error) {
	cfg, _, err := p.load()
	if err != nil {
		return nil, nil, p.listMistakes(err)
	}
	hooks, err := webhooks(cfg)
	if err != nil {
		return nil, nil, p.listMistakes(err)
	}
	return cfg, hooks, nil
}
