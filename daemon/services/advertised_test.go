package services

import (
	"fmt"
	"testing"

	"github.com/respawnd/respawnd/configs"
)

func TestAdvertisedOfZandronum(t *testing.T) {
	for name, tc := range map[string]struct {
		flags map[string]string
		want  string
	}{
		"neither": {nil, "[]"},
		"net":     {map[string]string{"net.advertise_as": "10.0.0.0/8=203.0.113.5"}, "[10.0.0.0/8=203.0.113.5]"},
		"zan":     {map[string]string{"zanmaster.advertise_as": "203.0.113.6"}, "[203.0.113.6]"},
		"both":    {map[string]string{"zanmaster.advertise_as": "203.0.113.6", "net.advertise_as": "203.0.113.5"}, "[203.0.113.5]"},
	} {
		if got := fmt.Sprint(load(t, configs.Options{Flags: tc.flags}).Advertised()); got != tc.want {
			t.Errorf("%s: Advertised() = %s, want %s", name, got, tc.want)
		}
	}
}
