package lists

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

func TestListSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	window := rig.Variable("master.restore_for", "1h")
	d := rig.Start(t, dir, window)
	stays := rig.Register(t, d, "hostname", "Stays", "mapname", "harbour")
	stays.OwnPlayers = []string{"Ann"}
	stays.MustHeartbeat("1")
	goes := rig.Register(t, d, "hostname", "Goes")
	rig.WantListed(t, d, stays, goes)
	d.Stop()

	e := rig.Start(t, dir, window)
	rig.WantListed(t, e, stays, goes)
	if got := rig.List(t, e, "", `\hostname\mapname`)[stays.Address().String()]; got["hostname"] != "Stays" || got["mapname"] != "harbour" {
		t.Errorf("the restored server reports %q", got)
	}
	if out := e.Cli("server", "list"); strings.Count(out, "restored") != 2 {
		t.Errorf("server list, want 2 servers that are restored:\n%s", out)
	}
	stays.SetServer(e.Address["qr2"])
	stays.MustSend(qr2.KindKeepalive, nil)
	stays.MustProve()
	e.WaitFor("the server that proved itself", 0, rig.VerdictOn(stays.Address(), "listed"))
	if out := e.Cli("server", "list"); strings.Count(out, "restored") != 1 {
		t.Errorf("server list, want 1 server that is restored:\n%s", out)
	}
	rig.WantListed(t, e, stays, goes)
	if got := rig.List(t, e, "", `\hostname\mapname`)[stays.Address().String()]; got["hostname"] != "Stays" || got["mapname"] != "harbour" {
		t.Errorf("the server that proved itself on a keepalive reports %q", got)
	}
	e.Stop()

	f := rig.Start(t, dir, rig.Variable("master.restore_for", "1s"))
	rig.Eventually(t, "the end of the silent server", func() bool { // or it is not restored, because it is silent for so long
		_, listed := rig.List(t, f, "", `\hostname`)[goes.Address().String()]
		return !listed
	})
	f.Stop()
}

func TestNothingIsRestoredWithoutAWindow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	rig.Register(t, d, "hostname", "Forgotten")
	d.Stop()
	e := rig.Start(t, dir, rig.Variable("master.restore_for", "0s"))
	rig.WantListed(t, e)
	e.Stop()
}

func TestBannedServerIsNotRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	h := rig.Register(t, d, "hostname", "Banned meanwhile")
	d.Stop()
	rig.Cli(t, rig.TestEnv(dir), "ban", "add", "127.0.0.0/8", "--scope", "lists")
	e := rig.Start(t, dir)
	wantReason(t, e, h.Address(), "qr2", verdicts.Banned)
	if out := e.Cli("server", "list"); strings.Contains(out, rig.TestGame) {
		t.Errorf("server list has a banned server:\n%s", out)
	}
	e.Stop()
}
