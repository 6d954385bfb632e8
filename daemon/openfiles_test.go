package daemon

import (
	"slices"
	"testing"
)

func TestFilesNeeded(t *testing.T) {
	c := &testConfig{}
	if n, keys := newSettings(c).filesNeeded(); n != ownFiles || keys != nil {
		t.Errorf("nothing is on: %d files for %q, want %d for none", n, keys, ownFiles)
	}
	c.First.MaxConns, c.Second.MaxConns = 100, 1000
	c.First.Listen = ":1"
	if n, keys := newSettings(c).filesNeeded(); n != ownFiles+100 || !slices.Equal(keys, []string{"first.max_conns"}) {
		t.Errorf("one is on: %d files for %q", n, keys)
	}
	c.Second.Listen = ":2"
	if n, keys := newSettings(c).filesNeeded(); n != ownFiles+1100+300 || !slices.Equal(keys, []string{"second.max_conns", "second.pairs", "first.max_conns"}) {
		t.Errorf("both are on: %d files for %q, want the greatest first", n, keys)
	}
}
