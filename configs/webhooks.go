package configs

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxWebhooks is the maximum number of webhooks.
const MaxWebhooks = 32

// Limits of a webhook.
const (
	maxWebhookName = 32
	minSecret      = 16 // characters
	maxPlayers     = 9999
)

// Secret is a text that must not appear in logs and messages: its String is a
// placeholder.
type Secret string

const redacted = "(secret)"

// String returns a placeholder for the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is String for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Webhook is an entry of webhooks. URL and Secret are empty if they are in a
// file.
type Webhook struct {
	Name        string // unique
	URL         Secret
	URLFile     string
	Format      string // json or discord
	Secret      Secret
	SecretFile  string
	Events      []string // up, down, players, bans, room_up, chat_ban, chat, status; empty: all but chat and status
	Room        string   // channel of chat
	Games       []string // lower case; empty: all
	PlayersHigh int      // 0: no events about players
	PlayersLow  int      // below PlayersHigh
	Allow       []netip.Prefix
}

// webhookYAML is an entry as it is written.
type webhookYAML struct {
	Name        string   `yaml:"name"`
	URL         string   `yaml:"url"`
	URLFile     string   `yaml:"url_file"`
	Format      string   `yaml:"format"`
	Secret      string   `yaml:"secret"`
	SecretFile  string   `yaml:"secret_file"`
	Events      []string `yaml:"events"`
	Room        string   `yaml:"room"`
	Games       []string `yaml:"games"`
	PlayersHigh int      `yaml:"players_high"`
	PlayersLow  *int     `yaml:"players_low"`
	Allow       []string `yaml:"allow"`
}

// mistakes are the errors of one value.
type mistakes []error

// entryMistake is one of the entry with a number, from 1, of a value that is a list.
type entryMistake struct {
	entry int
	error
}

// in returns mistakes of an entry, each with the entry before it.
func (m mistakes) in(entry int, before string) (all mistakes) {
	for _, err := range m {
		all = append(all, entryMistake{entry, fmt.Errorf("%s%w", before, err)})
	}
	return all
}

// Error implements error.
func (m mistakes) Error() string { return errors.Join(m...).Error() }

// parseWebhooks reads the list of webhooks as YAML. Its errors name the entry and hold no value.
func parseWebhooks(text string) ([]Webhook, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var nodes []yaml.Node
	if err := yaml.Unmarshal([]byte(text), &nodes); err != nil {
		return nil, errors.New("is not a list of webhooks, each with a name")
	}
	if len(nodes) > MaxWebhooks {
		return nil, fmt.Errorf("has more than %d entries", MaxWebhooks)
	}
	var out []Webhook
	var errs mistakes
	for i := range nodes {
		w, wrong := parseWebhook(&nodes[i])
		if named(w.Name) != "" && slices.ContainsFunc(out, func(o Webhook) bool { return o.Name == w.Name }) {
			wrong = append(wrong, errors.New("has the name of an earlier one"))
		}
		errs = append(errs, wrong.in(i+1, fmt.Sprintf("entry %d%s ", i+1, named(w.Name)))...)
		out = append(out, w)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// named returns a name for a message, if it is safe to show.
func named(name string) string {
	if name == "" || !isWebhookName(name) {
		return ""
	}
	return " (" + name + ")"
}

func isWebhookName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return s != "" && len(s) <= maxWebhookName && strings.Trim(s, letters) == ""
}

// parseWebhook reads one entry. The name is set even after an error.
func parseWebhook(n *yaml.Node) (w Webhook, wrong mistakes) {
	if n.Kind != yaml.MappingNode {
		return w, mistakes{errors.New("is not a webhook: write name, url and more below each other")}
	}
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; !slices.Contains(webhookKeys(), key) {
			wrong = append(wrong, fmt.Errorf("has the unknown key %s%s", quote(key), didYouMean(key, webhookKeys())))
		}
	}
	var y webhookYAML
	if err := n.Decode(&y); err != nil { // its text quotes values
		return w, append(wrong, errors.New("has a key twice, or a list or number where it takes something else"))
	}
	w = Webhook{
		Name: y.Name, URLFile: y.URLFile, Format: y.Format, Secret: Secret(y.Secret), SecretFile: y.SecretFile,
		Events: y.Events, Room: y.Room, PlayersHigh: y.PlayersHigh, PlayersLow: y.PlayersHigh / 2,
	}
	if y.PlayersLow != nil {
		w.PlayersLow = *y.PlayersLow
	}
	w.Format = cmp.Or(w.Format, "json")
	if y.URL != "" {
		url, err := ParseWebhookURL(y.URL)
		if w.URL = url; err != nil {
			w.URL, wrong = Secret(y.URL), append(wrong, err)
		}
	}
	for _, g := range y.Games {
		w.Games = append(w.Games, strings.ToLower(strings.TrimSpace(g)))
	}
	for _, text := range y.Allow {
		p, err := parsePrefix(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("allow: %w", err))
		}
		w.Allow = append(w.Allow, p)
	}
	return w, append(wrong, w.check()...)
}

func webhookKeys() []string {
	return []string{"name", "url", "url_file", "format", "secret", "secret_file", "events", "room", "games", "players_high", "players_low", "allow"}
}

// ParseWebhookURL checks the address of a webhook. Its errors do not quote it.
func ParseWebhookURL(text string) (Secret, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "", errors.New("url: is not a web address")
	}
	if u.User != nil || u.Fragment != "" {
		return "", errors.New("url: must hold no user and no fragment")
	}
	return Secret(text), nil
}

// CheckWebhookSecret checks the secret of a webhook. Its errors do not quote it.
func CheckWebhookSecret(s Secret) error {
	if len(s) < minSecret {
		return fmt.Errorf("secret: is shorter than %d characters", minSecret)
	}
	return nil
}

// maxChannel is the longest name of a chat room in bytes.
const maxChannel = 256

func (w *Webhook) checkRoom() error {
	chat := slices.Contains(w.Events, "chat")
	switch {
	case chat && w.Room == "":
		return errors.New("room: is missing, but events has chat")
	case !chat && w.Room != "":
		return errors.New("room: is for events: [chat] only")
	case chat && w.Format != "discord":
		return errors.New("events: chat is for format discord only")
	case w.Format != "discord" && slices.Contains(w.Events, "status"):
		return errors.New("events: status is for format discord only")
	case chat && (w.Room[0] != '#' || len(w.Room) < 2 || len(w.Room) > maxChannel || strings.ContainsAny(w.Room, " ,\r\n\x00")):
		return errors.New("room: must be the name of a chat room, such as '#GSP!mygame'")
	}
	return nil
}

// checkSecret returns the error of the secret, which a chat has none of.
func (w *Webhook) checkSecret() error {
	switch signed := w.Format == "json"; {
	case !signed && w.Format != "discord":
		return errors.New("format: must be json or discord")
	case signed && (w.Secret == "") == (w.SecretFile == ""):
		return errors.New("needs one of secret and secret_file, with which its receiver checks that it comes from here")
	case !signed && (w.Secret != "" || w.SecretFile != ""):
		return errors.New("secret: a chat does not check it; remove it")
	case w.Secret != "":
		return CheckWebhookSecret(w.Secret)
	}
	return nil
}

func (w *Webhook) checkPlayers() error {
	switch {
	case w.PlayersHigh < 0 || w.PlayersHigh > maxPlayers:
		return fmt.Errorf("players_high: is out of range: 0 to %d", maxPlayers)
	case w.PlayersHigh > 0 && (w.PlayersLow < 0 || w.PlayersLow >= w.PlayersHigh):
		return errors.New("players_low: must be 0 or more, and below players_high")
	case slices.Contains(w.Events, "players") && w.PlayersHigh == 0:
		return errors.New("players_high: is missing, but events has players")
	}
	return nil
}

// check returns the errors of the webhook as a whole.
func (w *Webhook) check() (wrong mistakes) {
	if !isWebhookName(w.Name) {
		wrong = append(wrong, fmt.Errorf("name: must be 1 to %d letters, digits, hyphens, underscores and dots", maxWebhookName))
	}
	if (w.URL == "") == (w.URLFile == "") {
		wrong = append(wrong, errors.New("needs one of url and url_file"))
	}
	for _, err := range []error{w.checkSecret(), w.checkPlayers(), w.checkRoom()} {
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	known := []string{"up", "down", "players", "bans", "room_up", "chat_ban", "chat", "status"}
	if slices.ContainsFunc(w.Events, func(e string) bool { return !slices.Contains(known, e) }) {
		wrong = append(wrong, errors.New("events: may hold up, down, players, bans, room_up, chat_ban, chat and status"))
	}
	if slices.Contains(w.Games, "") {
		wrong = append(wrong, errors.New("games: has an empty entry"))
	}
	return wrong
}
