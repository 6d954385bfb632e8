package selftest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/service"
)

func TestRun(t *testing.T) {
	t.Parallel()
	step := func(name string, order service.StepOrder, needs string, run func(*service.Trial) error) service.Step {
		return service.Step{
			Name: name, Order: order, Needs: []string{needs}, Lasting: name == "lasting",
			Run: func(_ context.Context, t *service.Trial) error { return run(t) },
		}
	}
	fine := func(*service.Trial) error { return nil }
	steps := []service.Step{
		step("last", service.OrderMessages, "on", fine),
		step("fails", service.OrderLists, "on", func(*service.Trial) error { return errors.Join(errors.New("one"), errors.New("two")) }),
		step("first", service.OrderRegister, "on", func(t *service.Trial) error { t.Remark("slowly"); return nil }),
		step("left out", service.OrderLists, "off", fine),
		step("lasting", service.OrderPlayers, "on", fine),
	}
	all := []string{"first: ok, but slowly", "fails: FAILED: one: two", "lasting: ok", "last: ok"}
	quick := []string{all[0], all[1], all[3]}
	for name, want := range map[string][]string{"quick": quick, "all": all} {
		var got []string
		trial := &service.Trial{Address: func(name string) string { return map[string]string{"on": "127.0.0.1:1"}[name] }}
		failed, err := Run(t.Context(), trial, steps, name == "quick", func(step, result string) error {
			got = append(got, step+": "+result)
			return nil
		})
		if failed != 1 || err != nil {
			t.Errorf("%s: %d failed, %v, want 1", name, failed, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Steps that need the test server run if a service takes its reports.
func TestRunWithoutServer(t *testing.T) {
	t.Parallel()
	for _, reports := range []string{"on", "off"} {
		var ran []string
		step := func(name string, order service.StepOrder, server bool, needs ...string) service.Step {
			return service.Step{Name: name, Order: order, Server: server, Needs: needs, Run: func(_ context.Context, t *service.Trial) error {
				if t.Registers != (reports == "on") {
					return errors.New("registers without a service, or not with it")
				}
				return nil
			}}
		}
		steps := []service.Step{step("list", service.OrderLists, true), step("page", service.OrderPages, false), step("report", service.OrderRegister, false, reports)}
		trial := &service.Trial{Address: func(name string) string { return map[string]string{"on": "127.0.0.1:1"}[name] }}
		failed, err := Run(t.Context(), trial, steps, false, func(step, _ string) error { ran = append(ran, step); return nil })
		want := map[string][]string{"on": {"report", "list", "page"}, "off": {"page"}}[reports]
		if diff := cmp.Diff(want, ran); failed != 0 || err != nil || diff != "" {
			t.Errorf("%s: %d failed, %v, steps (-want +got):\n%s", reports, failed, err, diff)
		}
	}
}
