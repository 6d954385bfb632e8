package operator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/test/rig"
)

func TestServeLogsUsageErrors(t *testing.T) {
	t.Parallel()
	code, _, errOut := rig.Command(t, rig.TestEnv(t.TempDir()), "serve", "--log-format", "json", "--no-such-flag")
	var line struct{ Level, Message, Error string }
	if err := json.Unmarshal([]byte(errOut), &line); err != nil {
		t.Fatalf("stderr is %q: %v", errOut, err)
	}
	if code != commands.ExitUsage || line.Level != "error" || line.Message == "" || !strings.Contains(line.Error, "no-such-flag") {
		t.Errorf("serve --no-such-flag: code %d, line %+v", code, line)
	}
}

func TestBanRemoveWithABrokenGamesFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig.Cli(t, rig.TestEnv(dir), "ban", "add", "192.0.2.1")
	env := rig.TestEnv(dir, rig.Variable("games.file", rig.WriteFile(t, "games.yaml", "games: nonsense")))
	code, out, errOut := rig.Command(t, env, "ban", "remove", "192.0.2.1")
	if code != 0 || !strings.Contains(out, "lifted 1") || !strings.Contains(errOut, "games.file") {
		t.Errorf("ban remove: code %d, %q, %q", code, out, errOut)
	}
}

func TestRoomNumberInFileAndStoreIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rig.Cli(t, rig.TestEnv(dir), "game", "room", "add", "gmtest", "Mine", "--id", "77")
	file := rig.WriteFile(t, "games.yaml", "games:\n  - {name: gmtest, rooms: [{id: 77, name: Theirs}]}\n")
	env := rig.TestEnv(dir, rig.Variable("games.file", file))
	rig.Refused(t, commands.ExitFailure, env, []string{"serve", "--log-format", "json"}, "room 77", "Mine", "Theirs")
}

func TestMissingFolderOfBanFilesIsRefused(t *testing.T) {
	t.Parallel()
	env := rig.TestEnv(t.TempDir(), rig.Variable("zanmaster.ban_files", "/no/such/folder"))
	rig.Refused(t, commands.ExitFailure, env, []string{"check"}, "zanmaster.ban_files", "/no/such/folder")
	rig.Refused(t, commands.ExitFailure, env, []string{"serve"}, "zanmaster.ban_files", "/no/such/folder")
}
