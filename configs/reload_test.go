package configs

import (
	"slices"
	"testing"
)

func TestReloadTakesOverMarkedKeysOnly(t *testing.T) {
	running := load(t, Options{})
	for i, k := range new(Config).keys() {
		now := load(t, Options{Flags: map[string]string{k.name: change(t, k.name)}})
		next, restart := Reload(running, now)
		var want *Config
		switch {
		case k.live:
			want = now
			if len(restart) > 0 {
				t.Errorf("Reload with another %s asks for a restart because of %q", k.name, restart)
			}
		default:
			want = running
			if !slices.Equal(restart, []string{k.name}) {
				t.Errorf("Reload with another %s: keys that need a restart are %q", k.name, restart)
			}
		}
		if got := changed(want, next); len(got) > 0 {
			t.Errorf("Reload with another %s (key %d, reloads: %v): wrong value of %q", k.name, i, k.live, got)
		}
	}
	if got := changed(load(t, Options{}), running); len(got) > 0 {
		t.Errorf("Reload changed the running configuration: %q", got)
	}
}
