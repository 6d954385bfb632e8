package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/cluster/clustertest"
)

func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := clustertest.New(t, "a", "b")
		var got []string
		a, b := cluster.NewNotes[string](net.Bus("a"), "test.notes"), cluster.NewNotes[string](net.Bus("b"), "test.notes")
		defer a.Listen(func(string) { t.Error("a note came back") })()
		cancel := b.Listen(func(s string) { got = append(got, s) })
		a.Tell("one")
		for _, bad := range []string{"", "\x02\"v\"", "\x01{", "\x01\"" + strings.Repeat("x", 5000) + "\""} {
			if err := net.Bus("a").Publish("test.notes", []byte(bad)); err != nil {
				t.Fatal(err)
			}
		}
		a.Tell("two")
		synctest.Wait()
		cancel()
		a.Tell("three")
		synctest.Wait()
		if !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("heard %q, want one and two", got)
		}
		if n := net.Bus("b").Unreadable(); n != 4 {
			t.Errorf("%d notes are counted as unreadable, want 4", n)
		}
	})
	alone := cluster.NewNotes[string](nil, "test.notes")
	alone.Tell("one")
	alone.Listen(nil)()
}
