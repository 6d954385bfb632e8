//go:build !windows

package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestReloadChangesTheSSQPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "own.yaml")
	if err := writeAt(config, "ssq: {password: first-horse}\n"); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, filepath.Join(dir, "data"), "--config", config)
	register(t, &c.running, "hostname", "Arena")
	tool := newQueryTool(t, &c.running)
	const query = "SELECT port,x-source IDENTIFIED "
	old := tool.ask("AUTH first-horse").Cell(0, "token")
	if got := tool.ask(query + old).Columns; len(got) != 2 {
		t.Errorf("with the token for the first password: %q", got)
	}
	if err := writeAt(config, "ssq: {password: second-horse}\n"); err != nil {
		t.Fatal(err)
	}
	n := c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", n, reloaded)
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
	c.signal(syscall.SIGTERM)
	c.end()
}
