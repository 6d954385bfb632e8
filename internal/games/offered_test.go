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

func TestLacksSecret(t *testing.T) {
	for name, test := range map[string]struct {
		game Game
		want bool
	}{
		"nothing is known":      {Game{}, true},
		"GameSpy's list":        {Game{Facts: Facts{Needs: []Service{"gpcm", "qr2"}}}, true},
		"old list":              {Game{Facts: Facts{Needs: []Service{"legacylist"}}}, true},
		"a secret":              {Game{Secrets: []string{"abcdef"}}, false},
		"a master of its own":   {Game{Facts: Facts{Needs: []Service{"q3master"}}}, false},
		"EA's list":             {Game{Facts: Facts{Needs: []Service{"fesl", "theater"}}}, false},
		"reports without proof": {Game{Policy: Policy{NoSecure: On}}, false},
	} {
		if got := test.game.LacksSecret(); got != test.want {
			t.Errorf("%s: LacksSecret() = %t, want %t", name, got, test.want)
		}
	}
}
