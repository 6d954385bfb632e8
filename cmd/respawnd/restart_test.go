package main

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/qr2"
)

func TestListSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	window := variable("master.restore_for", "30s") // a busy machine takes many seconds to look at the list
	d := start(t, dir, window)
	stays := register(t, d, "hostname", "Stays", "mapname", "harbour")
	stays.players = []string{"Ann"}
	stays.heartbeat("1")
	goes := register(t, d, "hostname", "Goes")
	wantListed(t, d, stays, goes)
	d.stop()

	e := start(t, dir, window)
	wantListed(t, e, stays, goes)
	if got := list(t, e, "", `\hostname\mapname`)[stays.address().String()]; got["hostname"] != "Stays" || got["mapname"] != "harbour" {
		t.Errorf("the restored server reports %q", got)
	}
	if out := e.cli("server", "list"); strings.Count(out, "restored") != 2 {
		t.Errorf("server list, want 2 servers that are restored:\n%s", out)
	}
	stays.SetServer(e.address["qr2"])
	stays.send(qr2.KindKeepalive, nil)
	stays.prove()
	e.waitFor("the server that proved itself", 0, verdictOn(stays.address(), "listed"))
	if out := e.cli("server", "list"); strings.Count(out, "restored") != 1 {
		t.Errorf("server list, want 1 server that is restored:\n%s", out)
	}
	e.waitFor("the end of the silent server", 0, verdictOn(goes.address(), "expired"))
	wantListed(t, e, stays)
	if got := list(t, e, "", `\hostname\mapname`)[stays.address().String()]; got["hostname"] != "Stays" || got["mapname"] != "harbour" {
		t.Errorf("the server that proved itself on a keepalive reports %q", got)
	}
	e.stop()
}

func TestNothingIsRestoredWithoutAWindow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	register(t, d, "hostname", "Forgotten")
	d.stop()
	e := start(t, dir, variable("master.restore_for", "0s"))
	wantListed(t, e)
	e.stop()
}

func TestBannedServerIsNotRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	h := register(t, d, "hostname", "Banned meanwhile")
	d.stop()
	cli(t, testEnv(dir), "ban", "add", "127.0.0.0/8", "--scope", "lists")
	e := start(t, dir)
	wantReason(t, e, h.address(), "qr2", verdicts.Banned)
	if out := e.cli("server", "list"); strings.Contains(out, testGame) {
		t.Errorf("server list has a banned server:\n%s", out)
	}
	e.stop()
}
