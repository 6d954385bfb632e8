package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/natneg"
)

// Two players without routers negotiate and report success. The number is kept over a
// restart, without their addresses.
func TestMeetings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := start(t, dir)
	var players [2]natneg.Peer
	for i := range players {
		conn, err := netclient.Dial(t.Context(), d.address["natneg"].String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		players[i] = natneg.Peer{Packets: conn, Version: 3, Cookie: 0x4D656574, Index: byte(i), Game: testGame}
		if err := players[i].Announce(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range players {
		if _, err := players[i].Partner(wait(t)); err != nil {
			t.Fatalf("player %d: %v", i, err)
		}
	}
	for i := range players {
		if err := players[i].Report(wait(t)); err != nil {
			t.Fatalf("player %d: %v", i, err)
		}
	}
	shown := func(d *running) string { return d.cli("meetings") }
	eventually(t, "the pair is counted", func() bool { return strings.Contains(shown(d), "open x open") })
	fields := strings.Fields(strings.Split(shown(d), "open x open")[1])
	if len(fields) < 5 || strings.Join(fields[:5], " ") != "1 0 0 0 0" {
		t.Errorf("meetings:\n%s", shown(d))
	}
	d.stop()
	data, err := os.ReadFile(filepath.Join(dir, natneg.OutcomesFile))
	if err != nil || strings.Contains(string(data), "127.0.0") {
		t.Errorf("the file: %s, %v", data, err)
	}
	d = start(t, dir)
	wantIn(t, shown(d), "open x open")
	wantIn(t, d.cli("meetings", "--json"), `"routers":["open","open"],"direct":1`)
	d.stop()
	if code, _, errOut := command(t, testEnv(t.TempDir()), "meetings"); code != exitFailure {
		t.Errorf("without a daemon: exit code %d\n%s", code, errOut)
	}
}
