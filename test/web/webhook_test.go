package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/webhook"
)

func TestWebhooksOfTheDaemon(t *testing.T) {
	t.Parallel()
	bot, chat := rig.NewInbox(t, true), rig.NewInbox(t, false)
	secret := rig.WriteFile(t, "secret", rig.HookSecret+"\n")
	config := rig.WriteFile(t, "own.yaml", fmt.Sprintf(`
webhooks:
  - {name: bot, url: %q, secret_file: %q, players_high: 3, allow: [127.0.0.0/8]}
  - {name: chat, url: %q, format: discord, events: [up, bans], allow: [127.0.0.1]}
  - {name: inside, url: %q, format: discord}
`, bot.Url, secret, chat.Url, chat.Url))
	d := rig.Start(t, t.TempDir(), "--config", config)
	h := rig.Register(t, d, "hostname", "@everyone\x1b[31m", "numplayers", "3", "maxplayers", "8")
	d.WaitFor("the hook to a private address", 0, func(e rig.Entry) bool {
		return e.Text("hook") == "inside" && strings.Contains(e.Text("error"), "not a public address")
	})
	var up struct {
		Events []struct {
			Type   string
			Server webhook.Server
		}
	}
	if err := json.Unmarshal([]byte(bot.MustNext("server.up")), &up); err != nil || len(up.Events) != 2 {
		t.Fatalf("first request: %+v, %v; want up and high", up, err)
	}
	if s := up.Events[1].Server; up.Events[1].Type != "players.high" || s.Name != "@everyone[31m" || s.Address != h.Address().String() || s.Players != 3 {
		t.Errorf("second event: %+v, want that the server is busy", up.Events[1])
	}
	if body := chat.MustNext("Up: "); !strings.Contains(body, `**\\@everyone\\[31m**`) || !strings.Contains(body, `"parse":[]`) {
		t.Errorf("chat message %s, want one without mentions", body)
	}
	d.Cli("ban", "add", "198.51.100.0/24", "--reason", "fakes")
	bot.MustNext(`"ban.added"`)
	chat.MustNext("Banned: `198.51.100.0/24` from all: fakes")
	d.Cli("ban", "remove", "198.51.100.0/24")
	chat.MustNext("Ban over: ")

	out := d.Cli("webhook", "list", "--config", config)
	if !strings.Contains(out, "127.0.0.1:") || !strings.Contains(out, "up, bans") || strings.Contains(out, "hidden-token") {
		t.Errorf("webhook list prints\n%s", out)
	}
	d.Stop()
	for _, hidden := range []string{"hidden-token", rig.HookSecret} {
		if strings.Contains(d.Log.String(), hidden) {
			t.Errorf("the log holds %q:\n%s", hidden, d.Log)
		}
	}
}

func TestWebhookTestSaysHowItWent(t *testing.T) {
	t.Parallel()
	bot := rig.NewInbox(t, true)
	config := rig.WriteFile(t, "own.yaml", fmt.Sprintf(`
webhooks:
  - {name: good, url: %q, secret: %q, allow: [127.0.0.1]}
  - {name: private, url: %q, secret: %q}
`, bot.Url, rig.HookSecret, bot.Url, rig.HookSecret))
	env := rig.TestEnv(t.TempDir())
	if out := rig.Cli(t, env, "webhook", "test", "good", "--config", config); !strings.HasPrefix(out, "good: delivered in ") {
		t.Errorf("webhook test prints %q", out)
	}
	bot.MustNext(`"type":"test"`)
	rig.Refused(t, commands.ExitFailure, env, []string{"webhook", "test", "private", "--config", config}, "webhook private: ", "not a public address")
	rig.Refused(t, commands.ExitFailure, env, []string{"webhook", "test", "nosuch", "--config", config}, `no entry "nosuch"`)
	rig.Refused(t, commands.ExitUsage, env, []string{"webhook", "test", "--config", config}, "--all")
	rig.Refused(t, commands.ExitUsage, env, []string{"webhook", "test", "good", "--all", "--config", config}, "--all")
	rig.Refused(t, commands.ExitFailure, env, []string{"webhook", "test", "--all"}, "no entries")
	code, out, errOut := rig.Command(t, env, "webhook", "test", "--all", "--config", config)
	if code != commands.ExitFailure || !strings.Contains(out, "good: delivered") || !strings.Contains(errOut, "private") || strings.Contains(out+errOut, "hidden-token") {
		t.Errorf("webhook test --all: exit code %d\n%s%s", code, out, errOut)
	}
}

func TestFilesOfWebhooksAreChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ entry, want string }{
		"missing url":    {"format: discord, url_file: /no/such/file", "webhooks: a: url_file: "},
		"bad url":        {fmt.Sprintf("format: discord, url_file: %q", rig.WriteFile(t, "url", "hidden-token")), "url: is not a web address"},
		"missing secret": {"url: 'https://example.org', secret_file: /no/such/file", "webhooks: a: secret_file: "},
		"short secret":   {fmt.Sprintf("url: 'https://example.org', secret_file: %q", rig.WriteFile(t, "secret", "hidden-token")), "shorter than 16"},
		"large file":     {fmt.Sprintf("url: 'https://example.org', secret_file: %q", rig.WriteFile(t, "secret", strings.Repeat("x", 4<<10+1))), "larger than"},
	} {
		config := rig.WriteFile(t, "own.yaml", "webhooks: [{name: a, "+tc.entry+"}]\n")
		for _, words := range [][]string{{"check"}, {"serve"}, {"webhook", "list"}} {
			code, out, errOut := rig.Command(t, rig.TestEnv(t.TempDir()), append(words, "--config", config)...)
			if code != commands.ExitFailure || !strings.Contains(errOut, strings.ReplaceAll(tc.want, `"`, `\"`)) || strings.Contains(out+errOut, "hidden-token") {
				t.Errorf("%s: %s: exit code %d, want %d and %q:\n%s", name, words[0], code, commands.ExitFailure, tc.want, errOut)
			}
		}
	}
}
