package configs

import "testing"

func TestEditDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"", "abc"}: 3, {"abc", ""}: 3, {"listen", "listen"}: 0, {"listn", "listen"}: 1,
		{"lsiten", "listen"}: 2, {"kitten", "sitting"}: 3,
	} {
		if got := editDistance(pair[0], pair[1]); got != want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", pair[0], pair[1], got, want)
		}
	}
}
