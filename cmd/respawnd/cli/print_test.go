package cli

import (
	"testing"
)

// The name of a server must not reach the terminal unfiltered.
func TestPrintableKeepsTheCursorWhereItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"text":           {"Grüße, 世界", "Grüße, 世界"},
		"escape":         {"a\x1b[2Jb", "a?[2Jb"},
		"line end, tab":  {"a\r\n\tb", "a???b"},
		"C1":             {"a\u009bb", "a?b"},
		"not UTF-8":      {"a\xffb", "aÿb"},
		"direction":      {"a\u202eb\u202db\u202ab", "a?b?b?b"},
		"isolates":       {"a\u2066b\u2069", "a?b?"},
		"line separator": {"a\u2028b\u2029c", "a?b?c"},
	} {
		if got := Printable(tc.in); got != tc.want {
			t.Errorf("%s: printable(%q) = %q, want %q", name, tc.in, got, tc.want)
		}
	}
}
