package main

import "testing"

func TestSetsCollector(t *testing.T) {
	for name, tc := range map[string]struct {
		env  []string
		want bool
	}{
		"nothing":      {nil, false},
		"others":       {[]string{"PATH=/bin", "GOGCC=1", "XGOGC=1"}, false},
		"empty":        {[]string{"GOGC=", "GOMEMLIMIT="}, false},
		"percent":      {[]string{"PATH=/bin", "GOGC=100"}, true},
		"off":          {[]string{"GOGC=off"}, true},
		"memory limit": {[]string{"GOMEMLIMIT=512MiB"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := setsCollector(tc.env); got != tc.want {
				t.Errorf("setsCollector(%q) = %t, want %t", tc.env, got, tc.want)
			}
		})
	}
}
