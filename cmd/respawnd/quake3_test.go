package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/internal/quake3"
	"github.com/respawnd/respawnd/q3master"
)

// quake3Servers returns the servers of a game and protocol as a browser gets them.
func quake3Servers(t *testing.T, d *running, r quake3.Request) []netip.AddrPort {
	t.Helper()
	conn, err := netclient.Dial(t.Context(), d.address["q3master"].String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	b := q3master.Browser{Packets: conn}
	list, err := b.List(wait(t), r)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// listedJSON returns the servers of a game as the pages' JSON has them.
func listedJSON(t *testing.T, d *running, game string) (list []shown) {
	t.Helper()
	b, err := netclient.Get(t.Context(), d.address["web"].String(), "/api/v1/servers?game="+game)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Servers []struct {
			Name, Address, Map string
			Players            int
			MaxPlayers         int `json:"max_players"`
			Origin             string
		}
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range answer.Servers {
		if s.Origin != "quake3" {
			t.Errorf("origin %q", s.Origin)
		}
		list = append(list, shown{Name: s.Name, Address: s.Address, Map: s.Map, NumPlayers: s.Players, MaxPlayers: s.MaxPlayers})
	}
	return list
}

// TestQuake3Master registers a server, finds it in all lists, and keeps it over a restart.
func TestQuake3Master(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	conn := packetsAt(t, netip.AddrPortFrom(home, 0), d.address["q3master"])
	h := q3master.NewHost(conn, "DarkPlaces", "gamename", "Xonotic", "protocol", "3", "hostname", "The Inn", "mapname", "dance",
		"clients", "1", "sv_maxclients", "16", "gametype", "dm")
	h.Players = []quake3.Player{{Score: 12, Ping: 40, Name: []byte("Ann")}}
	var serving sync.WaitGroup
	serving.Go(h.Serve)
	defer func() { _ = conn.Close(); serving.Wait() }()
	if err := h.Heartbeat(wait(t)); err != nil {
		t.Fatal(err)
	}
	d.waitFor("the server is listed", 0, verdictOn(h.Local(), "listed"))
	request := quake3.Request{Game: []byte("Xonotic"), Protocol: 3}
	if got := quake3Servers(t, d, request); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list %v", got)
	}
	want := []shown{{Name: "The Inn", Address: h.Local().String(), Map: "dance", NumPlayers: 1, MaxPlayers: 16}}
	if got := listedJSON(t, d, "xonotic"); !slices.Equal(got, want) {
		t.Errorf("JSON %+v, want %+v", got, want)
	}
	if out := d.cli("query", "quake3", h.Local().String()); !strings.Contains(out, "The Inn") || !strings.Contains(out, "Ann") {
		t.Errorf("query quake3:\n%s", out)
	}
	d.stop()

	d = start(t, dir)
	if got := quake3Servers(t, d, request); !slices.Equal(got, []netip.AddrPort{h.Local()}) {
		t.Errorf("list after a restart %v", got)
	}
	d.waitFor("the restored server answered", 0, verdictOn(h.Local(), "listed"))
	d.stop()
}

// debian returns the path of a program of a Debian package. Where CI is set it must be there.
func debian(t *testing.T, name, pack string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/games"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("CI is set and %s is missing: install Debian's package %s", name, pack)
	}
	t.Skipf("%s is not installed; Debian's package is %s", name, pack)
	return ""
}

// TestOpenArena lets a real server register and a real browser list it.
func TestOpenArena(t *testing.T) {
	server, browser := debian(t, "openarena-server", "openarena-server"), qstat(t)
	t.Parallel()
	d := start(t, t.TempDir())
	cmd := exec.CommandContext(t.Context(), server, "+set", "fs_homepath", t.TempDir(), "+set", "dedicated", "2",
		"+set", "net_enabled", "1", "+set", "net_ip", home.String(), "+set", "sv_master1", d.address["q3master"].String(),
		"+set", "sv_master2", "", "+set", "sv_master3", "", "+set", "sv_master4", "", "+set", "sv_master5", "",
		"+set", "sv_hostname", "^1The ^7Inn", "+map", "oa_dm1")
	out := new(screen)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	d.waitFor("the server is listed", 0, func(e entry) bool {
		return e.text("service") == "q3master" && e.text("verdict") == "listed"
	})
	list := quake3Servers(t, d, quake3.Request{Protocol: 71, Empty: true})
	if len(list) != 1 {
		t.Fatalf("list %v\n%s", list, out)
	}
	got := listedJSON(t, d, "openarena")
	if len(got) != 1 || got[0].Map != "oa_dm1" || got[0].Address != list[0].String() {
		t.Errorf("JSON %+v", got)
	}
	text, err := exec.CommandContext(t.Context(), browser, "-q3m,71,empty,full", d.address["q3master"].String()).CombinedOutput()
	if err != nil || !strings.Contains(string(text), "1 servers") || !strings.Contains(string(text), "The Inn") {
		t.Errorf("quakestat: %v\n%s", err, text)
	}
	d.stop()
}
