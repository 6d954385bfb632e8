package services

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/configs"
)

const hookSecret = "a-secret-of-26-characters!"

func TestWebhooksAreRead(t *testing.T) {
	file := `
webhooks:
  - name: chat
    url: https://discord.example/api/webhooks/1/t0ken
    format: discord
    events: [up, down, room_up, chat_ban, chat]
    room: '#GSP!gmtest'
    games: [ GMTest ]
  - name: bot
    url_file: /etc/url
    secret: ` + hookSecret + `
    players_high: 9
    allow: [127.0.0.1, 10.1.2.3/8]
  - {name: both, url: "http://example.org", secret_file: /etc/secret, format: json, events: [players, bans], players_high: 1, players_low: 0}
`
	want := []configs.Webhook{
		{Name: "chat", URL: "https://discord.example/api/webhooks/1/t0ken", Format: "discord", Events: []string{"up", "down", "room_up", "chat_ban", "chat"}, Room: "#GSP!gmtest", Games: []string{"gmtest"}},
		{
			Name: "bot", URLFile: "/etc/url", Format: "json", Secret: hookSecret, PlayersHigh: 9, PlayersLow: 4,
			Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8")},
		},
		{Name: "both", URL: "http://example.org", Format: "json", SecretFile: "/etc/secret", Events: []string{"players", "bans"}, PlayersHigh: 1},
	}
	samePrefix := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, load(t, configs.Options{File: write(t, "a.yaml", file)}).Webhooks, samePrefix); diff != "" {
		t.Errorf("webhooks of a file, -want +got:\n%s", diff)
	}
	inline := `[{name: chat, url: "https://discord.example/api/webhooks/1/t0ken", format: discord, events: [up, down, room_up, chat_ban, chat], room: "#GSP!gmtest", games: [gmtest]}]`
	if diff := cmp.Diff(want[:1], load(t, configs.Options{Env: []string{"RESPAWND_WEBHOOKS=" + inline}}).Webhooks, samePrefix); diff != "" {
		t.Errorf("webhooks of the environment, -want +got:\n%s", diff)
	}
	for _, none := range []string{"webhooks:\n", "webhooks: []\n", `webhooks: ""` + "\n"} {
		if got := load(t, configs.Options{File: write(t, "a.yaml", none)}).Webhooks; len(got) != 0 {
			t.Errorf("%q: %d webhooks, want none", none, len(got))
		}
	}
}

func TestWrongWebhooks(t *testing.T) {
	const url = "https://example.org/hidden-token"
	good := "name: a, url: '" + url + "', secret: " + hookSecret
	discord := "name: a, format: discord, url: '" + url + "'"
	tests := map[string]struct{ entry, want string }{
		"no entry":               {"a", "entry 1 is not a webhook"},
		"unknown key":            {good + ", colour: red", `entry 1 (a) has the unknown key "colour"`},
		"misspelt key":           {good + ", alow: []", "did you mean allow?"},
		"no name":                {"url: '" + url + "', secret: " + hookSecret, "entry 1 name: "},
		"hostile name":           {"name: \"a\\e[31m\", url: x", "entry 1 url: "},
		"no url":                 {"name: a, secret: " + hookSecret, "entry 1 (a) needs one of url and url_file"},
		"two urls":               {good + ", url_file: x", "needs one of url and url_file"},
		"url of a file":          {"name: a, url: 'file:///etc/hidden-token', secret: " + hookSecret, "url: is not a web address"},
		"url with a user":        {"name: a, url: 'https://u:hidden-token@example.org/', secret: " + hookSecret, "url: must hold no user"},
		"unknown format":         {good + ", format: slack", "format: must be json or discord"},
		"no secret":              {"name: a, url: '" + url + "'", "needs one of secret and secret_file"},
		"two secrets":            {good + ", secret_file: x", "needs one of secret and secret_file"},
		"short secret":           {"name: a, url: '" + url + "', secret: hidden-token123", "secret: is shorter than 16"},
		"secret of a chat":       {discord + ", secret: " + hookSecret, "secret: a chat"},
		"unknown event":          {good + ", events: [up, sideways]", "events: may hold"},
		"players without number": {good + ", events: [players]", "players_high: is missing"},
		"negative players":       {good + ", players_high: -1", "players_high: is out of range"},
		"low as high":            {good + ", players_high: 3, players_low: 3", "players_low: must be"},
		"number as text":         {good + ", players_high: many", "has a key twice"},
		"key twice":              {good + ", name: b", "has a key twice"},
		"network":                {good + ", allow: [hidden-token]", "allow: is not a network"},
		"chat without room":      {discord + ", events: [chat]", "room: is missing"},
		"room without chat":      {discord + ", room: '#GSP!gmtest'", "room: is for events"},
		"chat for a program":     {good + ", events: [chat], room: '#GSP!gmtest'", "discord only"},
		"status for a program":   {good + ", events: [status]", "discord only"},
		"bad room":               {discord + ", events: [up, chat], room: 'gmtest'", "room: must be"},
		"empty game":             {good + ", games: ['']", "games: has an empty entry"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			entry := "{" + tc.entry + "}"
			if tc.entry == "a" {
				entry = "a"
			}
			for _, opt := range []configs.Options{
				{File: write(t, "a.yaml", "webhooks:\n  - "+entry+"\n")},
				{Env: []string{"RESPAWND_WEBHOOKS=[" + entry + "]"}},
			} {
				got := refused(t, opt).Error()
				if !strings.HasPrefix(got, "webhooks: ") || !strings.Contains(got, tc.want) {
					t.Errorf("Load of %s: %q, want webhooks and %q", entry, got, tc.want)
				}
				for _, secret := range []string{"hidden-token", hookSecret, "\x1b"} {
					if strings.Contains(got, secret) {
						t.Errorf("Load of %s: the message holds %q: %s", entry, secret, got)
					}
				}
			}
		})
	}
	for name, file := range map[string]string{
		"a section":  "webhooks: {name: a}\n",
		"two names":  "webhooks: [{" + good + "}, {" + good + "}]\n",
		"not a list": "webhooks: 'name'\n",
		"an alias":   "data_dir: &a x\nwebhooks: *a\n",
	} {
		if got := refused(t, configs.Options{File: write(t, "a.yaml", file)}).Error(); !strings.HasPrefix(got, "webhooks: ") || strings.Contains(got, "hidden-token") {
			t.Errorf("%s: Load says %q, want a mistake in webhooks without values", name, got)
		}
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	w := configs.Webhook{Name: "a", URL: "https://example.org/hidden", Secret: hookSecret}
	asJSON, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{fmt.Sprint(w), fmt.Sprintf("%+v", w), fmt.Sprintf("%#v", w), fmt.Sprintf("%s %v %q", w.URL, w.URL, w.Secret), string(asJSON)} {
		if strings.Contains(got, "hidden") || strings.Contains(got, hookSecret) {
			t.Errorf("a secret shows: %s", got)
		}
	}
	if got := configs.Secret("").String(); got != "" {
		t.Errorf("no secret shows as %q, want nothing", got)
	}
}

func TestEveryEntryOfWebhooksIsChecked(t *testing.T) {
	got := refused(t, configs.Options{Flags: map[string]string{"webhooks": "[{name: a, url: x}, {name: b, format: smoke}, {name: c, format: discord, url: 'https://example.org/'}, {name: c, format: discord, url: 'https://example.org/'}]"}}).Error()
	for _, want := range []string{"entry 1 (a) url", "entry 2 (b) format", "entry 4 (c) has the name"} {
		if !strings.Contains(got, want) {
			t.Errorf("the mistakes lack %q:\n%s", want, got)
		}
	}
}
