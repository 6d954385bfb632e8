package services

import (
	"slices"
	"testing"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/internal/racetest"
)

func TestReloadTakesOverMarkedKeysOnly(t *testing.T) {
	racetest.Skip(t, "loads each key")
	running := load(t, configs.Options{})
	for i, k := range configs.Keys(new(Config)) {
		now := load(t, configs.Options{Flags: map[string]string{k.Name: change(t, k)}})
		next, restart := configs.Reload(running, now)
		var want *Config
		switch {
		case k.Live:
			want = now
			if len(restart) > 0 {
				t.Errorf("Reload with another %s asks for a restart because of %q", k.Name, restart)
			}
		default:
			want = running
			if !slices.Equal(restart, []string{k.Name}) {
				t.Errorf("Reload with another %s: keys that need a restart are %q", k.Name, restart)
			}
		}
		if got := changed(want, next); len(got) > 0 {
			t.Errorf("Reload with another %s (key %d, reloads: %v): wrong value of %q", k.Name, i, k.Live, got)
		}
	}
	if got := changed(load(t, configs.Options{}), running); len(got) > 0 {
		t.Errorf("Reload changed the running configuration: %q", got)
	}
}
