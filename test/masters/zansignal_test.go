//go:build !windows

package masters

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/zandronum"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/zanmaster"
)

func TestZandronumReload(t *testing.T) {
	t.Parallel()
	// The change of the file alone has no effect; the signal has.
	const settings = "zanmaster:\n  query: false\n  ban_files_poll: 0s\n  list_window: 0s\n"
	c := rig.StartConfigured(t, settings)
	d := &c.Running
	good, lax := rig.NewZanHost(t, d, rig.Home, nil), rig.NewZanHost(t, d, rig.Home, nil)
	bad := rig.NewZanHost(t, d, rig.QuietLoopback(t), nil)
	lax.Enforces = false
	for _, h := range []*rig.ZanHost{good, lax, bad} {
		h.MustRegister()
	}
	launcher := rig.NewZanPeer(t, d, rig.Home, nil)
	rig.WantZanList(t, launcher, good, bad)

	file := filepath.Join(c.Data, zanmaster.BanFile)
	if err := rig.WriteAt(file, bad.Address().Addr().String()+"\n*.*.*\n"); err != nil {
		t.Fatal(err)
	}
	_, n := c.Reload(settings+"  not_enforcing: show\n  old_list: false\n", rig.Reloaded)
	c.WaitFor("the bad line", n, func(e rig.Entry) bool {
		return e.Text("level") == "warn" && strings.Contains(e.Text("error"), file+":2:")
	})
	launcher.MustSend(zandronum.AppendQuery(nil, zandronum.Query{})) // no longer answered
	rig.WantZanList(t, launcher, good, lax)
	for _, h := range []*rig.ZanHost{good, lax} {
		if bans, _ := h.BanList(); bans.Len() != 1 {
			t.Errorf("ban list after the reload: got %+v, want one ban", bans)
		}
	}
	bad.MustAnnounce()
	bad.WantAnswer(zandronum.AnswerBanned)

	// After a mistake in the configuration nothing has changed.
	c.Reload(settings+"  not_enforcing: perhaps\n", rig.Message("not reloaded"))
	rig.WantZanList(t, launcher, good, lax)
	c.Stop()
}
