package games

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/cmd/respawnd/commands"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/test/rig"
)

// Records that games store are shown and deleted on the running daemon and without it.
func TestSakeCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := rig.OnlyEnv(dir, []string{"gpcm", "webservices", "admin"})
	d := rig.StartProcess(t, "", env)
	_, ann := newStatsPlayer(t, d.Address["gpcm"], "Ann")
	_, ben := newStatsPlayer(t, d.Address["gpcm"], "Ben")
	for _, title := range []string{"Cave\x1b[2J", "Tower"} {
		_, err := storageOf(d, ann).Create(rig.Wait(t), "levels", sakeField(t, "title", storage.SakeASCII, title), sakeField(t, "size", storage.SakeInt, "7"))
		rig.Must(t, err)
	}
	_, err := storageOf(d, ben).Create(rig.Wait(t), "levels", sakeField(t, "title", storage.SakeASCII, strings.Repeat("x", 60)+"hidden"))
	rig.Must(t, err)
	_, err = storageOf(d, ben).Create(rig.Wait(t), "scores")
	rig.Must(t, err)

	// check checks the replies of both ways to read records. The records of levels are
	// given by their id and owner.
	check := func(env []string, records ...string) {
		t.Helper()
		tables := words(rig.Cli(t, env, "sake", "tables", "GMTEST"))
		rig.WantIn(t, tables, "TABLE RECORDS BYTES FIELDS", "scores 1 ", "title size")
		shown := rig.Cli(t, env, "sake", "show", rig.TestGame, "LEVELS")
		if n := strings.Count(shown, "\n"); n != len(records)+1 {
			t.Errorf("%d lines are shown, want %d and a head:\n%s", n, len(records), shown)
		}
		rig.WantIn(t, words(shown), append(records, "title="+strings.Repeat("x", 60))...)
		for _, bad := range []string{"hidden", "\x1b"} {
			if strings.Contains(shown, bad) {
				t.Errorf("%q is shown:\n%s", bad, shown)
			}
		}
	}
	check(d.CliEnv(), "1 1 ", "2 1 ", "3 2 ")
	rig.WantIn(t, d.Cli("sake", "show", rig.TestGame, "levels"), "title=Tower size=7\n")
	if out := words(d.Cli("sake", "show", rig.TestGame, "levels", "--owner", "1", "--limit", "1")); !strings.Contains(out, "1 1 ") || strings.Contains(out, "2 1 ") {
		t.Errorf("one record of profile 1:\n%s", out)
	}
	rig.WantIn(t, d.Cli("sake", "delete", "--yes", rig.TestGame, "levels", "1"), "deleted 1 record of table levels of gmtest")
	mistakes := func(env []string) {
		t.Helper()
		rig.Refused(t, commands.ExitFailure, env, []string{"sake", "delete", "--yes", rig.TestGame, "levels", "1"}, `table "levels" of "gmtest"`, "not found")
		rig.Refused(t, commands.ExitFailure, env, []string{"sake", "show", rig.TestGame, "nosuch"}, `table "nosuch" of "gmtest"`)
		rig.Refused(t, commands.ExitFailure, env, []string{"sake", "delete", "--yes", rig.TestGame, "nosuch"}, `table "nosuch" of "gmtest"`)
		rig.Refused(t, commands.ExitUsage, env, []string{"sake", "delete", "--yes", rig.TestGame, "levels", "0"}, `"0" is not the id of a record`)
		rig.Refused(t, commands.ExitUsage, env, []string{"sake", "tables"}, "arg")
	}
	mistakes(d.CliEnv())
	check(d.CliEnv(), "2 1 ", "3 2 ")
	d.Kill()

	check(env, "2 1 ", "3 2 ")
	mistakes(env)
	rig.WantIn(t, rig.Cli(t, env, "sake", "delete", "--yes", rig.TestGame, "levels", "2"), "deleted 1 record")
	check(env, "3 2 ")
	rig.WantIn(t, rig.Cli(t, env, "sake", "delete", "--yes", rig.TestGame, "levels"), "deleted 1 record of table levels of gmtest")
	rig.Refused(t, commands.ExitFailure, env, []string{"sake", "show", rig.TestGame, "levels"}, `table "levels"`)
	if n := strings.Count(rig.Cli(t, env, "audit"), "sake.delete"); n != 3 {
		t.Errorf("the audit log has %d deletions, want 3", n)
	}

	d = rig.StartProcess(t, "", env)
	_, err = storageOf(d, signIn(t, d, "Ben")).Search(rig.Wait(t), "levels", "", "recordid")
	storageRefuses(t, err, "TableNotFound")
	if out := words(d.Cli("sake", "tables", rig.TestGame)); strings.Contains(out, "levels") {
		t.Errorf("the deleted table is shown:\n%s", out)
	}
}

// words returns a table with one space between the columns.
func words(table string) string { return strings.Join(strings.Fields(table), " ") + " " }
