package gstats

import (
	"testing"

	"github.com/respawnd/respawnd/internal/games"
)

// The Dawn of War games read the numbers of a new player, and want them all.
func TestZeroStats(t *testing.T) {
	t.Parallel()
	for policy, want := range map[games.Switch]string{games.On: `\points\0\wins\0`, games.Inherit: "", games.Off: ""} {
		f := start(t, func(o *Options) {
			g, _ := o.Games.Lookup("gmtest")
			g.Policy.ZeroStats = policy
			if err := o.Games.Replace([]games.Game{g}); err != nil {
				t.Fatal(err)
			}
		})
		data, _, err := f.game().Get(t.Context(), 100001, 3, 0, "points", "wins")
		if err != nil || string(data) != want {
			t.Errorf("policy %s: a new player has %q, %v; want %q", policy, data, err, want)
		}
	}
}
