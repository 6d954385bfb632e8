package docs

import (
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/test/rig"
)

func TestMetricsOfTheWholeDaemon(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	rig.WantSamples(t, d, map[string]float64{
		`respawnd_servers{game="other"}`: 0, `respawnd_players{game="other"}`: 0,
		"respawnd_accounts": 2, "respawnd_sessions": 0, "respawnd_bans": 0, "respawnd_ready": 1,
		"respawnd_last_reload_success":      1,
		"respawnd_store_write_errors_total": 0,
		`respawnd_build_info{goversion="` + runtime.Version() + `",version="` + cli.New(nil, nil, nil, nil).Version() + `"}`: 1,
	})
	if got := rig.Metric(t, d, `respawnd_servers{game="`+rig.TestGame+`"}`); got != "" {
		t.Errorf("%s servers of a game without any, want no sample", got)
	}
	if runtime.GOOS == "linux" && rig.Number(t, d, "respawnd_disk_free_bytes") <= 0 {
		t.Error("respawnd_disk_free_bytes is not above 0")
	}

	rig.SignedIn(t, d, "uniquenick", "Ann")
	gone := rig.Register(t, d, "hostname", "First", "numplayers", "3")
	rig.Register(t, d, "hostname", "Second", "numplayers", "4")
	d.Cli("ban", "add", "192.0.2.1")
	d.Cli("ban", "add", "192.0.2.2")
	rig.WantSamples(t, d, map[string]float64{
		`respawnd_servers{game="` + rig.TestGame + `"}`: 2, `respawnd_players{game="` + rig.TestGame + `"}`: 7, `respawnd_servers{game="other"}`: 0,
		"respawnd_sessions": 1, "respawnd_bans": 2,
	})
	writes := rig.Number(t, d, "respawnd_store_writes_total")
	if writes < 4 || rig.Number(t, d, "respawnd_store_write_seconds_count") < writes {
		t.Errorf("%v writes of the store, want at least 4, all of them timed", writes)
	}

	gone.MustHeartbeat("2")
	d.WaitFor("the farewell", 0, rig.VerdictOn(gone.Address(), "left"))
	d.Cli("ban", "remove", "192.0.2.1")
	d.Cli("account", "delete", "--yes", "Ben")
	rig.WantSamples(t, d, map[string]float64{
		`respawnd_servers{game="` + rig.TestGame + `"}`: 1, `respawnd_players{game="` + rig.TestGame + `"}`: 4,
		"respawnd_bans": 1, "respawnd_accounts": 1,
	})
	d.Stop()
}

// gameLabel is a label with the name of a game.
var gameLabel = regexp.MustCompile(`[{,]game="((?:[^"\\]|\\.)*)"`)

// Strangers choose names of games, in all protocols. They must not fill the memory
// of the daemon and of Prometheus with series.
func TestNamesOfUnknownGamesAreNoLabels(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir())
	rig.Register(t, d, "hostname", "Known")
	for _, name := range []string{"nosuchgame", `no"such}game`, strings.Repeat("g", 60)} {
		h := rig.NewHost(t, d.Address["qr2"], "hostname", "Unknown")
		h.Game = name
		h.MustHeartbeat("3")
		d.WaitFor("the refusal", 0, rig.VerdictOn(h.Address(), "unknown game"))
		_, _ = rig.Browse(t, d).List(rig.Wait(t), serverbrowse.NewRequest(name, "", `\hostname`, 0)) // refused
	}
	_, body := rig.Get(t, d, "admin", http.MethodGet, "/metrics", "")
	if strings.Contains(body, "such") || strings.Contains(body, "ggggg") {
		t.Errorf("the metrics have names of unknown games:\n%s", body)
	}
	found := gameLabel.FindAllStringSubmatch(body, -1)
	for _, m := range found {
		if !slices.Contains([]string{rig.TestGame, "other"}, m[1]) {
			t.Errorf("the metrics have the game %q", m[1])
		}
	}
	if len(found) < 4 {
		t.Errorf("%d labels of games, want servers and players of %s and other", len(found), rig.TestGame)
	}
	d.Stop()
}
