package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/gstats"
)

// TestStats changes statistics through the running daemon and, after it was killed, on
// its store.
func TestStats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := startChild(t, dir)
	must(t, writeAt(filepath.Join(dir, "block"), "\x00\x01binary"))
	env := testEnv(dir)
	for _, nick := range []string{"Ann", "Ben"} {
		typed(t, d.cliEnv(), "secret\n", "account", "create", "--email", nick+"@example.com", "--nick", nick, "--password-stdin")
	}
	wantIn(t, d.cli("stats", "set", "1", "gmtest", "3", "0", `\clan\A-Team`), "stored 13 bytes for profile 1", "kind 3 public")
	wantIn(t, d.cli("stats", "set", "1", "gmtest", "0", "7", "--file", filepath.Join(dir, "block")), "stored 8 bytes", "0 private, read-only")
	refused(t, exitUsage, d.cliEnv(), []string{"stats", "set", "1", "gmtest", "0", "--", "-7", "x"}, "not an index", "from 0")
	wantIn(t, d.cli("stats", "show", "1"), "profile 1, Ann", `\clan\A-Team`, "(binary)", " 7 ")
	wantIn(t, d.cli("stats", "set", "1", "gmtest", "3", "8", "--file", os.DevNull), "stored 0 bytes")
	wantIn(t, d.cli("stats", "show", "1"), "(empty)")
	wantIn(t, d.cli("stats", "delete", "1", "gmtest", "3", "8"), "deleted 1 record")
	refused(t, exitFailure, d.cliEnv(), []string{"stats", "set", "99", "gmtest", "3", "0", "x"}, "profile 99", "account show")
	refused(t, exitFailure, d.cliEnv(), []string{"stats", "set", "1", "nosuchgame", "3", "0", "x"}, "unknown game")
	wantIn(t, d.cli("stats", "game", "gmtest"), "REPORT")
	export := filepath.Join(dir, "stats.jsonl")
	wantIn(t, d.cli("stats", "export", export), "wrote "+export)
	d.kill()

	if got := cli(t, env, "stats", "show", "1", "gmtest", "3", "0"); got != "\\clan\\A-Team\x00" {
		t.Errorf("block after a kill: %q", got)
	}
	wantIn(t, cli(t, env, "stats", "delete", "1", "gmtest", "0", "7"), "deleted 1 record of profile 1")
	if code, out, errOut := command(t, env, "stats", "import", export); code != exitFailure || !strings.Contains(out, "refused 1") ||
		!strings.Contains(errOut, "profile 1: there are statistics") {
		t.Errorf("import over statistics: exit code %d, printed %q and %q", code, out, errOut)
	}
	wantIn(t, cli(t, env, "stats", "delete", "1"), "deleted 1 record of profile 1")
	wantIn(t, cli(t, env, "stats", "import", export), "imported the statistics of 1 player, refused 0")
	wantIn(t, cli(t, env, "stats", "show", "1"), `\clan\A-Team`, " 7 ")
	wantIn(t, cli(t, env, "stats", "delete", "1", "gmtest"), "deleted 2 records")
	if got := cli(t, env, "stats", "export", "-"); strings.TrimSpace(got) != "" {
		t.Errorf("export of nothing: %q", got)
	}
	wantIn(t, cli(t, env, "audit"), "stats.set", "stats.delete", "stats.import")
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
		refused(t, exitUsage, env, append([]string{"stats"}, args...))
	}
	refused(t, exitFailure, env, []string{"stats", "show", "99"}, "profile 99: not found", "account show")
}

// An account made without its password is refused and says why, until the password
// arrives again.
func TestStatsPasswordKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := testEnv(dir)
	create := func(env []string, nick string) {
		t.Helper()
		typed(t, env, "secret\n", "account", "create", "--email", "ann@example.com", "--nick", nick, "--password-stdin")
	}
	create(append(env, variable("accounts.keep_passwords", "false")), "Ann")
	wantIn(t, cli(t, env, "account", "show", "1"), "only its digest is kept")
	d := startChild(t, dir)
	c := statsClient(t, d.address["gstats"])
	if err := c.AuthenticatePlayer(wait(t), 1, "secret"); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("AuthenticatePlayer() without a kept password = %v, want ErrRefused", err)
	}
	wantIn(t, d.cli("doctor", "127.0.0.1"), "only its digest is kept", "account passwd")
	create(d.cliEnv(), "Second")
	wantIn(t, d.cli("account", "show", "1"), "kept, statistics accept it")
	if err := c.AuthenticatePlayer(wait(t), 1, "secret"); err != nil {
		t.Errorf("AuthenticatePlayer() after a sign-in = %v", err)
	}
	if err := c.AuthenticatePlayer(wait(t), 2, "wrong"); !errors.Is(err, gstats.ErrRefused) {
		t.Errorf("AuthenticatePlayer() with a wrong password = %v, want ErrRefused", err)
	}
}
