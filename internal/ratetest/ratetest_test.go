package ratetest

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	const expected = "# a comment\npairs joined: 24 of 25\nkills without loss: 10 of 10\nbroken: many\n"
	for name, tt := range map[string]struct {
		rate       string
		got, tries int
		want       string // in the error; empty: none
	}{
		"as expected":     {"pairs joined", 24, 25, ""},
		"better":          {"pairs joined", 25, 25, ""},
		"more tries":      {"kills without loss", 50, 50, ""},
		"worse":           {"pairs joined", 23, 25, "23 of 25, want at least 24 of 25"},
		"one lost of 50":  {"kills without loss", 49, 50, "want at least 10 of 10"},
		"not tried":       {"pairs joined", 0, 0, "0 of 0"},
		"without a line":  {"pairs", 1, 1, "no line"},
		"a line of words": {"broken", 1, 1, `is not "N of M"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := compare(expected, tt.rate, tt.got, tt.tries)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("compare() = %v, want nil", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("compare() = %v, want %q in it", err, tt.want)
			}
		})
	}
}
