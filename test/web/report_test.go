package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/test/rig"
)

// A game that cannot be played by its record, and was by its players, is a question for the
// operator; the record stands until it is answered.
func TestReportsThatContradict(t *testing.T) {
	t.Parallel()
	file := rig.WriteFile(t, "games.yaml", `games: [{name: maze, title: Maze, needs: [qr2], editions: [{copy: retail, way: dns, blocked: an exit}]}]`)
	d := rig.Start(t, t.TempDir(), rig.Variable("games.file", file))
	if out := d.Cli("played", "questions"); strings.Contains(out, "maze") {
		t.Errorf("without reports: %s", out)
	}
	for _, source := range []string{"a forum", "another forum"} {
		d.Cli("played", "add", "maze", "--source", source, "--copy", "retail")
	}
	rig.WantIn(t, d.Cli("played", "questions"), "maze", "cannot be played here: an exit", "2 times, last on")
	if _, body := rig.Get(t, d, "web", http.MethodGet, "/games/maze", ""); strings.Contains(body, "played here: 2") || !strings.Contains(body, "cannot be played here") {
		t.Error("the page of the game says something else")
	}
	d.Stop()
}

// TestReportOnAGame: a player who did nothing here is not believed; one who asked for a list is,
// over a restart; an operator strikes his report out.
func TestReportOnAGame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.Start(t, dir)
	pages := "http://" + d.Address["web"].String()
	report := func(want int, args ...string) string {
		t.Helper()
		code, out, errOut := rig.Command(t, d.CliEnv(), append([]string{"report", "gmtest", "--to", pages}, args...)...)
		if code != want {
			t.Fatalf("report %q: %d, %s%s", args, code, out, errOut)
		}
		return out + errOut
	}
	if text := report(1); !strings.Contains(text, "no service of this game has seen your address") {
		t.Errorf("of a stranger: %s", text)
	}
	rig.List(t, d, "", `\hostname`)
	if text := report(0, "--copy", "gog"); !strings.Contains(text, "Your report is kept") {
		t.Errorf("of a player: %s", text)
	}
	lines := d.Cli("played", "list", "--json")
	if !strings.Contains(lines, `"copy":"gog"`) || !strings.Contains(lines, `"services":["serverbrowse"]`) {
		t.Errorf("played list: %s", lines)
	}
	d.Cli("played", "add", "gmtest", "--source", "a forum", "--copy", "gog")
	page := func(text string, want bool) {
		t.Helper()
		if _, body := rig.Get(t, d, "web", http.MethodGet, "/games/gmtest", ""); strings.Contains(body, text) != want {
			t.Errorf("the page of the game has %q: %t, want %t", text, !want, want)
		}
	}
	page("played here: 2 times", true)
	d.Stop()
	d = rig.Start(t, dir)
	page("played here: 2 times", true)
	for line := range strings.Lines(d.Cli("played", "list")) {
		if id, _, _ := strings.Cut(line, " "); strings.Contains(id, "/gmtest/") {
			d.Cli("played", "strike", id)
		}
	}
	page("played here", false)
	if log := d.Cli("audit"); !strings.Contains(log, "played.strike") {
		t.Errorf("audit log: %s", log)
	}
}
