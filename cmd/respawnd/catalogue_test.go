package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/configs"
)

// usedGames are the built-in games that tests of this package use.
var usedGames = []string{testGame, "battlefield2", "callofduty", "callofduty2", "callofduty4", "ccgenzh", "civ4", "cstrike", "doom3", "halor", "mariokartwii", "nwn", "openarena", "quake4", "prey", "source", "stella", "swat4", "ut", "ut2004", "zandronum"}

// fewGames cuts the built-in lists to the games that tests use. Each start and each
// command reads the lists, and with all 2400 games that takes longer than everything
// else together, most of all with the race detector.
func fewGames() {
	keep := func(table string, column int) string {
		var kept strings.Builder
		for line := range strings.Lines(table) {
			if row := strings.Split(line, "\t"); len(row) > column && slices.Contains(usedGames, row[column]) {
				kept.WriteString(line)
			}
		}
		return kept.String()
	}
	configs.GameTable, configs.RoomTable = keep(configs.GameTable, 0), keep(configs.RoomTable, 1)
	facts := "games:"
	for _, record := range strings.Split(string(configs.Games), "\n  - ")[1:] {
		_, name, _ := strings.Cut(record, "name: ")
		if end := strings.IndexAny(name, ",}\n"); slices.Contains(usedGames, name[:max(end, 0)]) {
			facts += "\n  - " + record
		}
	}
	configs.Games = []byte(facts + "\n")
}

// The program as users have it, with all built-in games.
func TestWholeCatalogue(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), builtProgram(t), "game", "list")
	cmd.Env = append(testEnv(t.TempDir()), asProgram+"="+allGames)
	out, err := cmd.CombinedOutput()
	if n := bytes.Count(out, []byte("\n")); err != nil || n < 2400 {
		t.Errorf("game list: %v, %d lines, want more than 2400 games:\n%.2000s", err, n, out)
	}
}
