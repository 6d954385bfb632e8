package configs

import (
	"errors"
	"strings"
	"testing"
)

func TestTextBounds(t *testing.T) {
	password := func(n int) error { _, err := parsePassword(strings.Repeat("x", n)); return err }
	hook := func(n, players int) error {
		w := Webhook{Name: strings.Repeat("n", n), Format: "discord", URL: "https://example.org/", PlayersHigh: players}
		return errors.Join(w.check()...)
	}
	for name, tt := range map[string]struct {
		err  error
		fits bool
	}{
		"shortest password":      {password(minPassword), true},
		"password too short":     {password(minPassword - 1), false},
		"longest password":       {password(maxPassword), true},
		"password too long":      {password(maxPassword + 1), false},
		"shortest secret":        {CheckWebhookSecret(Secret(strings.Repeat("s", minSecret))), true},
		"secret too short":       {CheckWebhookSecret(Secret(strings.Repeat("s", minSecret-1))), false},
		"longest webhook name":   {hook(maxWebhookName, 0), true},
		"webhook name too long":  {hook(maxWebhookName+1, 0), false},
		"most players":           {hook(1, maxPlayers), true},
		"more players than that": {hook(1, maxPlayers+1), false},
	} {
		if (tt.err == nil) != tt.fits {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
}
