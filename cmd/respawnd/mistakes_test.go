package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestServeLogsUsageErrors(t *testing.T) {
	t.Parallel()
	code, _, errOut := command(t, testEnv(t.TempDir()), "serve", "--log-format", "json", "--no-such-flag")
	var line struct{ Level, Message, Error string }
	if err := json.Unmarshal([]byte(errOut), &line); err != nil {
		t.Fatalf("stderr is %q: %v", errOut, err)
	}
	if code != exitUsage || line.Level != "error" || line.Message == "" || !strings.Contains(line.Error, "no-such-flag") {
		t.Errorf("serve --no-such-flag: code %d, line %+v", code, line)
	}
}

func TestBanRemoveWithABrokenGamesFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cli(t, testEnv(dir), "ban", "add", "192.0.2.1")
	env := testEnv(dir, variable("games.file", writeFile(t, "games.yaml", "games: nonsense")))
	code, out, errOut := command(t, env, "ban", "remove", "192.0.2.1")
	if code != 0 || !strings.Contains(out, "lifted 1") || !strings.Contains(errOut, "games.file") {
		t.Errorf("ban remove: code %d, %q, %q", code, out, errOut)
	}
}

func TestRoomNumberInFileAndStoreIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cli(t, testEnv(dir), "game", "room", "add", "gmtest", "Mine", "--id", "77")
	file := writeFile(t, "games.yaml", "games:\n  - {name: gmtest, rooms: [{id: 77, name: Theirs}]}\n")
	env := testEnv(dir, variable("games.file", file))
	refused(t, exitFailure, env, []string{"serve", "--log-format", "json"}, "room 77", "Mine", "Theirs")
}

func TestMissingFolderOfBanFilesIsRefused(t *testing.T) {
	t.Parallel()
	env := testEnv(t.TempDir(), variable("zanmaster.ban_files", "/no/such/folder"))
	refused(t, exitFailure, env, []string{"check"}, "zanmaster.ban_files", "/no/such/folder")
	refused(t, exitFailure, env, []string{"serve"}, "zanmaster.ban_files", "/no/such/folder")
}
