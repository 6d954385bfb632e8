package main

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
)

func TestHistoryOfPlayersSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, historyName)
	busy := history.Key{Origin: master.FromQR2, Public: netip.MustParseAddrPort("192.0.2.1:6500")}
	before := history.NewBook()
	before.Begin(time.Now().Add(-3*history.Interval)).Add(busy, 12)
	var file bytes.Buffer
	if err := before.Save(&file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second daemon has what the first one saved
		d := start(t, dir)
		code, body := get(t, d, "web", http.MethodGet, "/api/v1/servers/"+string(master.AppendID(nil, busy.Origin, busy.Public))+"/history", "")
		var got struct {
			Players []*int `json:"players"`
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK || len(got.Players) < 3 || got.Players[0] == nil || *got.Players[0] != 12 {
			t.Errorf("history: %d %s, %v; want 12 players at first", code, body, err)
		}
		d.stop()
	}
	if left := names(t, dir); slices.ContainsFunc(left, func(n string) bool { return strings.Contains(n, "part") }) {
		t.Errorf("leftovers in the data folder: %q", left)
	}

	if err := os.WriteFile(path, file.Bytes()[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, dir)
	d.waitFor("the damaged history", 0, message("the history of players begins anew"))
	d.stop()
}
