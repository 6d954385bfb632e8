package relay

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
)

func TestWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   int
	}{
		"defaults":                  {func(*Config) {}, 0},
		"ports for each pair":       {func(c *Config) { c.Ports, c.MaxPairs = "40000-40005", 3 }, 0},
		"one pair without ports":    {func(c *Config) { c.Ports, c.MaxPairs = "40000-40004", 3 }, 1},
		"switched off with a few":   {func(c *Config) { c.Enabled, c.Ports = false, "40000-40004" }, 0},
		"many pairs, default range": {func(c *Config) { c.MaxPairs = 30000 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var c Config
			configs.Defaults(&c)
			tc.change(&c)
			got := c.Warnings()
			if len(got) != tc.want || tc.want > 0 && (!strings.Contains(got[0], "relay.max_pairs") || !strings.Contains(got[0], "relay.ports")) {
				t.Errorf("Warnings() = %q, want %d that name both keys", got, tc.want)
			}
		})
	}
}
