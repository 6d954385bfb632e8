//go:build !windows

package masters

import (
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

func TestReloadChangesTheSSQPassword(t *testing.T) {
	t.Parallel()
	c := rig.StartConfigured(t, "ssq: {password: first-horse}\n")
	rig.Register(t, &c.Running, "hostname", "Arena")
	tool := rig.NewQueryTool(t, &c.Running)
	const query = "SELECT port,x-source IDENTIFIED "
	old := tool.MustAsk("AUTH first-horse").Cell(0, "token")
	if got := tool.MustAsk(query + old).Columns; len(got) != 2 {
		t.Errorf("with the token for the first password: %q", got)
	}
	c.Reload("ssq: {password: second-horse}\n", rig.Reloaded)
	if got := tool.MustAsk(query + old).Columns; len(got) != 1 {
		t.Errorf("after the reload, with the token for the first password: %q", got)
	}
	if got := tool.MustAsk("AUTH first-horse").Cell(0, "token"); got != "" {
		t.Errorf("after the reload the first password gives the token %q", got)
	}
	now := tool.MustAsk("AUTH second-horse").Cell(0, "token")
	if got := tool.MustAsk(query + now).Columns; len(got) != 2 {
		t.Errorf("with the token for the second password: %q", got)
	}
	c.Stop()
}
