//go:build !windows

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestZandronumReload(t *testing.T) {
	t.Parallel()
	// The change of the file alone has no effect; the signal has.
	const settings = "zanmaster:\n  query: false\n  ban_files_poll: 0s\n  list_window: 0s\n"
	c := startConfigured(t, settings)
	d := &c.running
	good, lax := newZanHost(t, d, home, nil), newZanHost(t, d, home, nil)
	bad := newZanHost(t, d, quietLoopback(t), nil)
	lax.enforces = false
	for _, h := range []*zanHost{good, lax, bad} {
		h.register()
	}
	launcher := newZanPeer(t, d, home, nil)
	wantZanList(t, launcher, good, bad)

	file := filepath.Join(c.data, zanmaster.BanFile)
	if err := writeAt(file, bad.address().Addr().String()+"\n*.*.*\n"); err != nil {
		t.Fatal(err)
	}
	_, n := c.reload(settings+"  not_enforcing: show\n  old_list: false\n", reloaded)
	c.waitFor("the bad line", n, func(e entry) bool { return e.text("level") == "warn" && strings.Contains(e.text("error"), file+":2:") })
	launcher.send(zandronum.AppendQuery(nil, zandronum.Query{})) // no longer answered
	wantZanList(t, launcher, good, lax)
	for _, h := range []*zanHost{good, lax} {
		if bans, _ := h.banList(); bans.Len() != 1 {
			t.Errorf("ban list after the reload: got %+v, want one ban", bans)
		}
	}
	bad.announce()
	bad.wantAnswer(zandronum.AnswerBanned)

	// After a mistake in the configuration nothing has changed.
	c.reload(settings+"  not_enforcing: perhaps\n", message("not reloaded"))
	wantZanList(t, launcher, good, lax)
	c.stop()
}
