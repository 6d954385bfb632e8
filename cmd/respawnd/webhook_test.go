package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/webhook"
)

const hookSecret = "a-secret-of-26-characters!"

// inbox is a receiver of webhooks on loopback.
type inbox struct {
	t    testing.TB
	url  string
	gots chan string // bodies
}

// newInbox accepts requests that are signed, or have no signature if signed is
// false.
func newInbox(t testing.TB, signed bool) *inbox {
	b := &inbox{t: t, gots: make(chan string, 100)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		sign := r.Header.Get(webhook.HeaderSignature)
		if err != nil || signed != (sign == webhook.Sign(hookSecret, r.Header.Get(webhook.HeaderTimestamp), body)) || (!signed && sign != "") {
			t.Errorf("request with signature %q, %v", sign, err)
		}
		b.gots <- string(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(s.Close)
	b.url = s.URL + "/hidden-token"
	return b
}

// next waits for a request that holds a text.
func (b *inbox) next(text string) string {
	b.t.Helper()
	guard := time.NewTimer(hang)
	defer guard.Stop()
	for {
		select {
		case body := <-b.gots:
			if strings.Contains(body, text) {
				return body
			}
		case <-guard.C:
			b.t.Fatalf("no request with %q", text)
		}
	}
}

func TestWebhooksOfTheDaemon(t *testing.T) {
	t.Parallel()
	bot, chat := newInbox(t, true), newInbox(t, false)
	secret := writeFile(t, "secret", hookSecret+"\n")
	config := writeFile(t, "own.yaml", fmt.Sprintf(`
webhooks:
  - {name: bot, url: %q, secret_file: %q, players_high: 3, allow: [127.0.0.0/8]}
  - {name: chat, url: %q, format: discord, events: [up, bans], allow: [127.0.0.1]}
  - {name: inside, url: %q, format: discord}
`, bot.url, secret, chat.url, chat.url))
	d := start(t, t.TempDir(), "--config", config)
	h := register(t, d, "hostname", "@everyone\x1b[31m", "numplayers", "3", "maxplayers", "8")
	d.waitFor("the hook to a private address", 0, func(e entry) bool {
		return e.text("hook") == "inside" && strings.Contains(e.text("error"), "not a public address")
	})
	var up struct {
		Events []struct {
			Type   string
			Server webhook.Server
		}
	}
	if err := json.Unmarshal([]byte(bot.next("server.up")), &up); err != nil || len(up.Events) != 2 {
		t.Fatalf("first request: %+v, %v; want up and high", up, err)
	}
	if s := up.Events[1].Server; up.Events[1].Type != "players.high" || s.Name != "@everyone[31m" || s.Address != h.address().String() || s.Players != 3 {
		t.Errorf("second event: %+v, want that the server is busy", up.Events[1])
	}
	if body := chat.next("Up: "); !strings.Contains(body, `**\\@everyone\\[31m**`) || !strings.Contains(body, `"parse":[]`) {
		t.Errorf("chat message %s, want one without mentions", body)
	}
	d.cli("ban", "add", "198.51.100.0/24", "--reason", "fakes")
	bot.next(`"ban.added"`)
	chat.next("Banned: `198.51.100.0/24` from all: fakes")
	d.cli("ban", "remove", "198.51.100.0/24")
	chat.next("Ban over: ")

	out := d.cli("webhook", "list", "--config", config)
	if !strings.Contains(out, "127.0.0.1:") || !strings.Contains(out, "up, bans") || strings.Contains(out, "hidden-token") {
		t.Errorf("webhook list prints\n%s", out)
	}
	d.stop()
	for _, hidden := range []string{"hidden-token", hookSecret} {
		if strings.Contains(d.log.String(), hidden) {
			t.Errorf("the log holds %q:\n%s", hidden, d.log)
		}
	}
}

func TestWebhookTestSaysHowItWent(t *testing.T) {
	t.Parallel()
	bot := newInbox(t, true)
	config := writeFile(t, "own.yaml", fmt.Sprintf(`
webhooks:
  - {name: good, url: %q, secret: %q, allow: [127.0.0.1]}
  - {name: private, url: %q, secret: %q}
`, bot.url, hookSecret, bot.url, hookSecret))
	env := testEnv(t.TempDir())
	if out := cli(t, env, "webhook", "test", "good", "--config", config); !strings.HasPrefix(out, "good: delivered in ") {
		t.Errorf("webhook test prints %q", out)
	}
	bot.next(`"type":"test"`)
	refused(t, exitFailure, env, []string{"webhook", "test", "private", "--config", config}, "webhook private: ", "not a public address")
	refused(t, exitFailure, env, []string{"webhook", "test", "nosuch", "--config", config}, `no entry "nosuch"`)
	refused(t, exitUsage, env, []string{"webhook", "test", "--config", config}, "--all")
	refused(t, exitUsage, env, []string{"webhook", "test", "good", "--all", "--config", config}, "--all")
	refused(t, exitFailure, env, []string{"webhook", "test", "--all"}, "no entries")
	code, out, errOut := command(t, env, "webhook", "test", "--all", "--config", config)
	if code != exitFailure || !strings.Contains(out, "good: delivered") || !strings.Contains(errOut, "private") || strings.Contains(out+errOut, "hidden-token") {
		t.Errorf("webhook test --all: exit code %d\n%s%s", code, out, errOut)
	}
}

func TestFilesOfWebhooksAreChecked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ entry, want string }{
		"missing url":    {"format: discord, url_file: /no/such/file", "webhooks: a: url_file: "},
		"bad url":        {fmt.Sprintf("format: discord, url_file: %q", writeFile(t, "url", "hidden-token")), "url: is not a web address"},
		"missing secret": {"url: 'https://example.org', secret_file: /no/such/file", "webhooks: a: secret_file: "},
		"short secret":   {fmt.Sprintf("url: 'https://example.org', secret_file: %q", writeFile(t, "secret", "hidden-token")), "shorter than 16"},
		"large file":     {fmt.Sprintf("url: 'https://example.org', secret_file: %q", writeFile(t, "secret", strings.Repeat("x", 4<<10+1))), "larger than"},
	} {
		config := writeFile(t, "own.yaml", "webhooks: [{name: a, "+tc.entry+"}]\n")
		for _, words := range [][]string{{"check"}, {"serve"}, {"webhook", "list"}} {
			code, out, errOut := command(t, testEnv(t.TempDir()), append(words, "--config", config)...)
			if code != exitFailure || !strings.Contains(errOut, strings.ReplaceAll(tc.want, `"`, `\"`)) || strings.Contains(out+errOut, "hidden-token") {
				t.Errorf("%s: %s: exit code %d, want %d and %q:\n%s", name, words[0], code, exitFailure, tc.want, errOut)
			}
		}
	}
}
