package colour

import (
	"testing"

	"github.com/respawnd/respawnd/master"
)

func TestOfServer(t *testing.T) {
	for _, tc := range []struct {
		origin     master.Origin
		game, want Family
	}{
		{master.FromQR2, None, None},
		{master.FromQR2, Unreal, Unreal},
		{master.FromZandronum, None, Doom},
		{master.FromZandronum, Quake, Doom},
		{master.FromQuake3, None, Quake},
		{master.FromQuake3, Unreal, Unreal},
	} {
		if got := OfServer(tc.origin, tc.game); got != tc.want {
			t.Errorf("%v with %q: %q, want %q", tc.origin, tc.game, got, tc.want)
		}
	}
}
