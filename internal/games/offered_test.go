package games

import (
	"slices"
	"testing"
)

func TestOffered(t *testing.T) {
	for _, test := range []struct {
		needs   []Service
		running []Service
		want    bool
	}{
		{nil, []Service{"qr2"}, true},
		{nil, []Service{"zanmaster"}, false},
		{[]Service{"zanmaster"}, []Service{"zanmaster"}, true},
		{[]Service{"zanmaster"}, []Service{"qr2"}, false},
		{[]Service{"qr2", "gpcm"}, []Service{"qr2"}, true}, // its page says what is off
		{[]Service{"race"}, []Service{"qr2"}, true},        // not built: its page says so
		{[]Service{"race"}, []Service{"zanmaster"}, false},
	} {
		served := func(s Service) Served {
			switch {
			case s == "race":
				return NotBuilt
			case slices.Contains(test.running, s):
				return Running
			default:
				return SwitchedOff
			}
		}
		if got := (Facts{Needs: test.needs}).Offered(served); got != test.want {
			t.Errorf("a game that needs %q where %q run: offered %t, want %t", test.needs, test.running, got, test.want)
		}
	}
}
