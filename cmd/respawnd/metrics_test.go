package main

import (
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/master/serverbrowse"
)

// number returns the value of a sample and fails if there is none.
func number(t testing.TB, d *running, sample string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(metric(t, d, sample), 64)
	if err != nil {
		t.Fatalf("sample %s: %v", sample, err)
	}
	return n
}

// wantSamples fails unless each sample has its value.
func wantSamples(t testing.TB, d *running, want map[string]float64) {
	t.Helper()
	for sample, value := range want {
		if got := number(t, d, sample); got != value {
			t.Errorf("%s = %v, want %v", sample, got, value)
		}
	}
}

func TestMetricsOfTheWholeDaemon(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	wantSamples(t, d, map[string]float64{
		`respawnd_servers{game="other"}`: 0, `respawnd_players{game="other"}`: 0,
		"respawnd_accounts": 2, "respawnd_sessions": 0, "respawnd_bans": 0, "respawnd_ready": 1,
		"respawnd_last_reload_success":      1,
		"respawnd_report_models":            0,
		"respawnd_store_write_errors_total": 0,
		`respawnd_build_info{goversion="` + runtime.Version() + `",version="` + version() + `"}`: 1,
	})
	if got := metric(t, d, `respawnd_servers{game="`+testGame+`"}`); got != "" {
		t.Errorf("%s servers of a game without any, want no sample", got)
	}
	if runtime.GOOS == "linux" && number(t, d, "respawnd_disk_free_bytes") <= 0 {
		t.Error("respawnd_disk_free_bytes is not above 0")
	}

	signedIn(t, d, "uniquenick", "Ann")
	gone := register(t, d, "hostname", "First", "numplayers", "3")
	register(t, d, "hostname", "Second", "numplayers", "4")
	d.cli("ban", "add", "192.0.2.1")
	d.cli("ban", "add", "192.0.2.2")
	wantSamples(t, d, map[string]float64{
		`respawnd_servers{game="` + testGame + `"}`: 2, `respawnd_players{game="` + testGame + `"}`: 7, `respawnd_servers{game="other"}`: 0,
		"respawnd_sessions": 1, "respawnd_bans": 2,
	})
	writes := number(t, d, "respawnd_store_writes_total")
	if writes < 4 || number(t, d, "respawnd_store_write_seconds_count") < writes {
		t.Errorf("%v writes of the store, want at least 4, all of them timed", writes)
	}

	gone.heartbeat("2")
	d.waitFor("the farewell", 0, verdictOn(gone.address(), "left"))
	d.cli("ban", "remove", "192.0.2.1")
	d.cli("account", "delete", "Ben")
	wantSamples(t, d, map[string]float64{
		`respawnd_servers{game="` + testGame + `"}`: 1, `respawnd_players{game="` + testGame + `"}`: 4,
		"respawnd_bans": 1, "respawnd_accounts": 1,
	})
	d.stop()
}

// gameLabel is a label with the name of a game.
var gameLabel = regexp.MustCompile(`[{,]game="((?:[^"\\]|\\.)*)"`)

// Strangers choose names of games, in all protocols. They must not fill the memory
// of the daemon and of Prometheus with series.
func TestNamesOfUnknownGamesAreNoLabels(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir())
	register(t, d, "hostname", "Known")
	for _, name := range []string{"nosuchgame", `no"such}game`, strings.Repeat("g", 60)} {
		h := newHost(t, d.address["qr2"], "hostname", "Unknown")
		h.Game = name
		h.heartbeat("3")
		d.waitFor("the refusal", 0, verdictOn(h.address(), "unknown game"))
		_, _ = browse(t, d).List(wait(t), serverbrowse.NewRequest(name, "", `\hostname`, 0)) // refused
	}
	_, body := get(t, d, "admin", http.MethodGet, "/metrics", "")
	if strings.Contains(body, "such") || strings.Contains(body, "ggggg") {
		t.Errorf("the metrics have names of unknown games:\n%s", body)
	}
	found := gameLabel.FindAllStringSubmatch(body, -1)
	for _, m := range found {
		if !slices.Contains([]string{testGame, "other"}, m[1]) {
			t.Errorf("the metrics have the game %q", m[1])
		}
	}
	if len(found) < 4 {
		t.Errorf("%d labels of games, want servers and players of %s and other", len(found), testGame)
	}
	d.stop()
}
