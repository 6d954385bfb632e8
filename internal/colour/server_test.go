package colour

import (
	"testing"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/q3master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestOfServer(t *testing.T) {
	for _, tc := range []struct {
		origin     *master.Origin
		game, want Family
	}{
		{qr2.Origin, None, None},
		{qr2.Origin, Unreal, Unreal},
		{zanmaster.Origin, None, Doom},
		{zanmaster.Origin, Doom, Doom},
		{q3master.Origin, None, Quake},
		{q3master.Origin, Unreal, Unreal},
	} {
		if got := OfServer(tc.origin, tc.game); got != tc.want {
			t.Errorf("%v with %q: %q, want %q", tc.origin, tc.game, got, tc.want)
		}
	}
}
