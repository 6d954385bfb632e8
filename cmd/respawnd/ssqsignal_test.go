//go:build !windows

package main

import "testing"

func TestReloadChangesTheSSQPassword(t *testing.T) {
	t.Parallel()
	c := startConfigured(t, "ssq: {password: first-horse}\n")
	register(t, &c.running, "hostname", "Arena")
	tool := newQueryTool(t, &c.running)
	const query = "SELECT port,x-source IDENTIFIED "
	old := tool.ask("AUTH first-horse").Cell(0, "token")
	if got := tool.ask(query + old).Columns; len(got) != 2 {
		t.Errorf("with the token for the first password: %q", got)
	}
	c.reload("ssq: {password: second-horse}\n", reloaded)
	if got := tool.ask(query + old).Columns; len(got) != 1 {
		t.Errorf("after the reload, with the token for the first password: %q", got)
	}
	if got := tool.ask("AUTH first-horse").Cell(0, "token"); got != "" {
		t.Errorf("after the reload the first password gives the token %q", got)
	}
	now := tool.ask("AUTH second-horse").Cell(0, "token")
	if got := tool.ask(query + now).Columns; len(got) != 2 {
		t.Errorf("with the token for the second password: %q", got)
	}
	c.stop()
}
