package webhook

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/respawnd/respawnd/configs"
)

// maxHookFile is the size in bytes of the largest file with a URL or a secret.
const maxHookFile = 4 << 10

// Hooks returns the hooks of a configuration, with the content of their files.
func Hooks(list []configs.Webhook) (hooks []Hook, err error) {
	var errs []error
	for _, w := range list {
		h, err := hook(w)
		if err != nil {
			errs = append(errs, fmt.Errorf("webhooks: %s: %w", w.Name, err))
		}
		hooks = append(hooks, h)
	}
	return hooks, errors.Join(errs...)
}

func hook(w configs.Webhook) (Hook, error) {
	h := Hook{
		Name: w.Name, URL: string(w.URL), Secret: string(w.Secret), Games: w.Games,
		Room: w.Room, High: w.PlayersHigh, Low: w.PlayersLow, Allow: w.Allow,
	}
	if w.Format == "discord" {
		h.Format = Discord
	}
	for _, e := range w.Events {
		if e == "status" {
			h.Status = true
			continue
		}
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
func kinds(word string) []Kind {
	switch word {
	case "up":
		return []Kind{ServerUp}
	case "down":
		return []Kind{ServerDown}
	case "players":
		return []Kind{PlayersHigh, PlayersLow}
	case "room_up":
		return []Kind{RoomUp}
	case "chat_ban":
		return []Kind{ChatBanned}
	case "chat":
		return []Kind{Said}
	default:
		return []Kind{BanAdded, BanRemoved}
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
