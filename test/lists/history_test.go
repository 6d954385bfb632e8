package lists

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/history"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/test/rig"
	"github.com/respawnd/respawnd/web"
)

func TestHistoryOfPlayersSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, web.HistoryFile)
	busy := history.Key{Origin: "qr2", Public: netip.MustParseAddrPort("192.0.2.1:6500")}
	before := history.NewBook()
	round := before.Begin(time.Now().Add(-3 * history.Interval))
	round.Add(busy, "gmtest", 12)
	round.End()
	var file bytes.Buffer
	if err := before.Save(&file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second daemon loads the first one's file
		d := rig.Start(t, dir)
		var got struct {
			Players []*int `json:"players"`
		}
		rig.Eventually(t, "the first round of the daemon", func() bool {
			code, body := rig.Get(t, d, "web", http.MethodGet, "/api/v1/servers/"+string(master.AppendID(nil, busy.Origin, busy.Public))+"/history", "")
			return code == http.StatusOK && json.Unmarshal([]byte(body), &got) == nil && len(got.Players) >= 3
		})
		if got.Players[0] == nil || *got.Players[0] != 12 {
			t.Errorf("history %v, want 12 players at first", got.Players)
		}
		d.Stop()
	}
	if left := rig.Names(t, dir); slices.ContainsFunc(left, func(n string) bool { return strings.Contains(n, "part") }) {
		t.Errorf("leftovers in the data folder: %q", left)
	}

	if err := os.WriteFile(path, file.Bytes()[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	d := rig.Start(t, dir)
	d.WaitFor("the damaged history", 0, rig.Message("the history of players is unreadable and starts empty"))
	d.Stop()
}
