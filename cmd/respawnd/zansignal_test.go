//go:build !windows

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestZandronumReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	config := filepath.Join(dir, "own.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := writeAt(path, text); err != nil {
			t.Fatal(err)
		}
	}
	// The change of the file alone has no effect; the signal has.
	const settings = "zanmaster:\n  query: false\n  ban_files_poll: 0s\n  list_window: 0s\n"
	write(config, settings)
	c := startChild(t, data, "--config", config)
	d := &c.running
	good, lax := newZanHost(t, d, home, nil), newZanHost(t, d, home, nil)
	bad := newZanHost(t, d, quietLoopback(t), nil)
	lax.enforces = false
	for _, h := range []*zanHost{good, lax, bad} {
		h.register()
	}
	launcher := newZanPeer(t, d, home, nil)
	wantZanList(t, launcher, good, bad)

	file := filepath.Join(data, zanmaster.BanFile)
	write(file, bad.address().Addr().String()+"\n*.*.*\n")
	write(config, settings+"  not_enforcing: show\n  old_list: false\n")
	n := c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the reload", n, reloaded)
	c.waitFor("the bad line", n, func(e entry) bool { return e.text("level") == "warn" && strings.Contains(e.text("error"), file+":2:") })
	launcher.send(zandronum.AppendQuery(nil, zandronum.Query{})) // not answered any more
	wantZanList(t, launcher, good, lax)
	for _, h := range []*zanHost{good, lax} {
		if bans, _ := h.banList(); bans.Len() != 1 {
			t.Errorf("ban list after the reload: got %+v, want one ban", bans)
		}
	}
	bad.announce()
	bad.wantAnswer(zandronum.AnswerBanned)

	// After a mistake in the configuration nothing has changed.
	write(config, settings+"  not_enforcing: perhaps\n")
	n = c.log.len()
	c.signal(syscall.SIGHUP)
	c.waitFor("the refusal", n, message("not reloaded"))
	wantZanList(t, launcher, good, lax)
	c.signal(syscall.SIGTERM)
	if state := c.end(); state.ExitCode() != 0 {
		t.Errorf("the process ended with %v, want exit code 0:\n%s", state, c.log)
	}
	c.log.check(t)
}
