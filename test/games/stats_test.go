package games

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/gstats"
	"github.com/respawnd/respawnd/test/rig"
)

// TestStats changes statistics through the running daemon and, after it was killed, on
// its store.
func TestStats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := rig.StartChild(t, dir)
	rig.Must(t, rig.WriteAt(filepath.Join(dir, "block"), "\x00\x01binary"))
	env := rig.TestEnv(dir)
	for _, nick := range []string{"Ann", "Ben"} {
		rig.Typed(t, d.CliEnv(), "secret\n", "account", "create", "--email", nick+"@example.com", "--nick", nick, "--password-stdin")
	}
	rig.WantIn(t, d.Cli("stats", "set", "1", "gmtest", "3", "0", `\clan\A-Team`), "stored 13 bytes for profile 1", "kind 3 public")
	rig.WantIn(t, d.Cli("stats", "set", "1", "gmtest", "0", "7", "--file", filepath.Join(dir, "block")), "stored 8 bytes", "0 private, read-only")
	rig.Refused(t, commands.ExitUsage, d.CliEnv(), []string{"stats", "set", "1", "gmtest", "0", "--", "-7", "x"}, "not an index", "from 0")
	rig.WantIn(t, d.Cli("stats", "show", "1"), "profile 1, Ann", `\clan\A-Team`, "(binary)", " 7 ")
	rig.WantIn(t, d.Cli("stats", "set", "1", "gmtest", "3", "8", "--file", os.DevNull), "stored 0 bytes")
	rig.WantIn(t, d.Cli("stats", "show", "1"), "(empty)")
	rig.WantIn(t, d.Cli("stats", "delete", "--yes", "1", "gmtest", "3", "8"), "deleted 1 record")
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"stats", "set", "99", "gmtest", "3", "0", "x"}, "profile 99", "account show")
	rig.Refused(t, commands.ExitFailure, d.CliEnv(), []string{"stats", "set", "1", "nosuchgame", "3", "0", "x"}, "unknown game")
	rig.WantIn(t, d.Cli("stats", "game", "gmtest"), "REPORT")
	export := filepath.Join(dir, "stats.jsonl")
	rig.WantIn(t, d.Cli("stats", "export", export), "wrote "+export)
	d.Kill()

	if got := rig.Cli(t, env, "stats", "show", "1", "gmtest", "3", "0"); got != "\\clan\\A-Team\x00" {
		t.Errorf("block after a kill: %q", got)
	}
	rig.WantIn(t, rig.Cli(t, env, "stats", "delete", "--yes", "1", "gmtest", "0", "7"), "deleted 1 record of profile 1")
	if code, out, errOut := rig.Command(t, env, "stats", "import", export); code != commands.ExitFailure || !strings.Contains(out, "refused 1") ||
		!strings.Contains(errOut, "profile 1: there are statistics") {
		t.Errorf("import over statistics: exit code %d, printed %q and %q", code, out, errOut)
	}
	rig.WantIn(t, rig.Cli(t, env, "stats", "delete", "--yes", "1"), "deleted 1 record of profile 1")
	rig.WantIn(t, rig.Cli(t, env, "stats", "import", export), "imported the statistics of 1 player, refused 0")
	rig.WantIn(t, rig.Cli(t, env, "stats", "show", "1"), `\clan\A-Team`, " 7 ")
	rig.WantIn(t, rig.Cli(t, env, "stats", "delete", "--yes", "1", "gmtest"), "deleted 2 records")
	if got := rig.Cli(t, env, "stats", "export", "-"); strings.TrimSpace(got) != "" {
		t.Errorf("export of nothing: %q", got)
	}
	rig.WantIn(t, rig.Cli(t, env, "audit"), "stats.set", "stats.delete", "stats.import")
	for _, args := range [][]string{
		{"show"},
		{"show", "Ann"},
		{"show", "1", "gmtest"},
		{"set", "1", "gmtest", "3", "0"},
		{"set", "1", "gmtest", "4", "0", "x"},
		{"set", "1", "gmtest", "3", "x", "x"},
		{"set", "1", "gmtest", "3", "0", "x", "--file", export},
		{"delete", "1", "gmtest", "3"},
		{"game"},
	} {
		rig.Refused(t, commands.ExitUsage, env, append([]string{"stats"}, args...))
	}
	rig.Refused(t, commands.ExitFailure, env, []string{"stats", "show", "99"}, "profile 99: not found", "account show")
}

// An account made without its password is refused and says why, until the password
// arrives again.
func TestStatsPasswordKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.TestEnv(dir)
	create := func(env []string, nick string) {
		t.Helper()
		rig.Typed(t, env, "secret\n", "account", "create", "--email", "ann@example.com", "--nick", nick, "--password-stdin")
	}
	create(append(env, rig.Variable("accounts.keep_passwords", "false")), "Ann")
	rig.WantIn(t, rig.Cli(t, env, "account", "show", "1"), "only its digest is kept")
	d := rig.StartChild(t, dir)
	c := statsClient(t, d.Address["gstats"])
	if err := c.AuthenticatePlayer(rig.Wait(t), 1, "secret"); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("AuthenticatePlayer() without a kept password = %v, want ErrRefused", err)
	}
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1"), "only its digest is kept", "account passwd")
	create(d.CliEnv(), "Second")
	rig.WantIn(t, d.Cli("account", "show", "1"), "kept, statistics accept it")
	if err := c.AuthenticatePlayer(rig.Wait(t), 1, "secret"); err != nil {
		t.Errorf("AuthenticatePlayer() after a sign-in = %v", err)
	}
	if err := c.AuthenticatePlayer(rig.Wait(t), 2, "wrong"); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("AuthenticatePlayer() with a wrong password = %v, want ErrRefused", err)
	}
}
