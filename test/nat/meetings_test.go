package nat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/internal/netclient"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/test/rig"
)

// Two players without routers negotiate and report success. The number is kept over a
// restart, without their addresses.
func TestMeetings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	var players [2]natneg.Peer
	for i := range players {
		conn, err := netclient.Dial(t.Context(), d.Address["natneg"].String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		players[i] = natneg.Peer{Packets: conn, Version: 3, Cookie: 0x4D656574, Index: byte(i), Game: rig.TestGame}
		if err := players[i].Announce(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range players {
		if _, err := players[i].Partner(rig.Wait(t)); err != nil {
			t.Fatalf("player %d: %v", i, err)
		}
	}
	for i := range players {
		if err := players[i].Report(rig.Wait(t)); err != nil {
			t.Fatalf("player %d: %v", i, err)
		}
	}
	shown := func(d *rig.Running) string { return d.Cli("meetings") }
	rig.Eventually(t, "the pair is counted", func() bool { return strings.Contains(shown(d), "open x open") })
	fields := strings.Fields(strings.Split(shown(d), "open x open")[1])
	if len(fields) < 5 || strings.Join(fields[:5], " ") != "1 0 0 0 0" {
		t.Errorf("meetings:\n%s", shown(d))
	}
	d.Stop()
	data, err := os.ReadFile(filepath.Join(dir, natneg.OutcomesFile))
	if err != nil || strings.Contains(string(data), "127.0.0") {
		t.Errorf("the file: %s, %v", data, err)
	}
	d = rig.Start(t, dir)
	rig.WantIn(t, shown(d), "open x open")
	rig.WantIn(t, d.Cli("meetings", "--json"), `"routers":["open","open"],"direct":1`)
	d.Stop()
	if code, _, errOut := rig.Command(t, rig.TestEnv(t.TempDir()), "meetings"); code != commands.ExitFailure {
		t.Errorf("without a daemon: exit code %d\n%s", code, errOut)
	}
}
