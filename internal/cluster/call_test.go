package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
	"github.com/respawnd/respawnd/internal/cluster/clustertest"
)

type question struct{ Number int }

// callOf returns a Call that answers with the name of the node and the number; 0 is an error.
func callOf(bus cluster.Bus, node string) *cluster.Call[question, []string] {
	return cluster.NewCall(bus, "test.call", func(_ context.Context, q question) ([]string, error) {
		if q.Number == 0 {
			return nil, errors.New("zero")
		}
		return []string{node, strings.Repeat("i", q.Number)}, nil
	})
}

func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := clustertest.New(t, "a", "b", "c")
		net.SetSilence(time.Hour)
		calls := make(map[string]*cluster.Call[question, []string])
		for _, node := range []string{"a", "b", "c"} {
			calls[node] = callOf(net.Bus(node), node)
			defer calls[node].Serve()()
		}
		ask := func(node string, n int) string {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			answer, err := calls["a"].Ask(ctx, node, question{n})
			if err != nil {
				return err.Error()
			}
			return strings.Join(answer, " ")
		}
		for node, want := range map[string]string{"": "a ii", "a": "a ii", "b": "b ii", "x": cluster.ErrGone.Error()} {
			if got := ask(node, 2); got != want {
				t.Errorf("Ask %q: %s, want %s", node, got, want)
			}
		}
		if got := ask("b", 0); got != "node b: zero" {
			t.Errorf("an error of the node: %s", got)
		}
		for _, bad := range []string{"", "\x02{}", "\x01{"} {
			if _, err := net.Bus("a").Request(t.Context(), "b", "test.call", []byte(bad)); err == nil {
				t.Errorf("the question %q was answered", bad)
			}
		}
		net.Cut("a", "c")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var from []string
		err := calls["a"].AskOthers(ctx, question{1}, func(a []string) { from = append(from, a[0]) })
		if !slices.Equal(from, []string{"b"}) || err == nil || !strings.HasPrefix(err.Error(), "node c: ") {
			t.Errorf("AskOthers: answers of %q, %v; want b, and an error that names c", from, err)
		}
	})
}

func TestCallAlone(t *testing.T) {
	c := callOf(nil, "alone")
	defer c.Serve()()
	err := c.AskOthers(t.Context(), question{1}, func([]string) { t.Error("there is another node") })
	if a, askErr := c.Ask(t.Context(), "other", question{2}); err != nil || askErr != nil || a[1] != "ii" {
		t.Errorf("answer %q, %v, %v", a, err, askErr)
	}
}
