package main

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

// Records that games store are shown and deleted on the running daemon and without it.
func TestSakeCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := onlyEnv(dir, []string{"gpcm", "webservices", "admin"})
	d := startProcess(t, "", env)
	_, ann := newStatsPlayer(t, d.address["gpcm"], "Ann")
	_, ben := newStatsPlayer(t, d.address["gpcm"], "Ben")
	for _, title := range []string{"Cave\x1b[2J", "Tower"} {
		_, err := storageOf(d, ann).Create(wait(t), "levels", sakeField(t, "title", storage.SakeASCII, title), sakeField(t, "size", storage.SakeInt, "7"))
		must(t, err)
	}
	_, err := storageOf(d, ben).Create(wait(t), "levels", sakeField(t, "title", storage.SakeASCII, strings.Repeat("x", 60)+"hidden"))
	must(t, err)
	_, err = storageOf(d, ben).Create(wait(t), "scores")
	must(t, err)

	// check checks the replies of both ways to read records. The records of levels are
	// given by their id and owner.
	check := func(env []string, records ...string) {
		t.Helper()
		tables := words(cli(t, env, "sake", "tables", "GMTEST"))
		wantIn(t, tables, "TABLE RECORDS BYTES FIELDS", "scores 1 ", "title size")
		shown := cli(t, env, "sake", "show", testGame, "LEVELS")
		if n := strings.Count(shown, "\n"); n != len(records)+1 {
			t.Errorf("%d lines are shown, want %d and a head:\n%s", n, len(records), shown)
		}
		wantIn(t, words(shown), append(records, "title="+strings.Repeat("x", 60))...)
		for _, bad := range []string{"hidden", "\x1b"} {
			if strings.Contains(shown, bad) {
				t.Errorf("%q is shown:\n%s", bad, shown)
			}
		}
	}
	check(d.cliEnv(), "1 1 ", "2 1 ", "3 2 ")
	wantIn(t, d.cli("sake", "show", testGame, "levels"), "title=Tower size=7\n")
	if out := words(d.cli("sake", "show", testGame, "levels", "--owner", "1", "--limit", "1")); !strings.Contains(out, "1 1 ") || strings.Contains(out, "2 1 ") {
		t.Errorf("one record of profile 1:\n%s", out)
	}
	wantIn(t, d.cli("sake", "delete", testGame, "levels", "1"), "deleted 1 record of table levels of gmtest")
	mistakes := func(env []string) {
		t.Helper()
		refused(t, exitFailure, env, []string{"sake", "delete", testGame, "levels", "1"}, `table "levels" of "gmtest"`, "not found")
		refused(t, exitFailure, env, []string{"sake", "show", testGame, "nosuch"}, `table "nosuch" of "gmtest"`)
		refused(t, exitFailure, env, []string{"sake", "delete", testGame, "nosuch"}, `table "nosuch" of "gmtest"`)
		refused(t, exitUsage, env, []string{"sake", "delete", testGame, "levels", "0"}, `"0" is not the id of a record`)
		refused(t, exitUsage, env, []string{"sake", "tables"}, "arg")
	}
	mistakes(d.cliEnv())
	check(d.cliEnv(), "2 1 ", "3 2 ")
	d.kill()

	check(env, "2 1 ", "3 2 ")
	mistakes(env)
	wantIn(t, cli(t, env, "sake", "delete", testGame, "levels", "2"), "deleted 1 record")
	check(env, "3 2 ")
	wantIn(t, cli(t, env, "sake", "delete", testGame, "levels"), "deleted 1 record of table levels of gmtest")
	refused(t, exitFailure, env, []string{"sake", "show", testGame, "levels"}, `table "levels"`)
	if n := strings.Count(cli(t, env, "audit"), "sake.delete"); n != 3 {
		t.Errorf("the audit log has %d deletions, want 3", n)
	}

	d = startProcess(t, "", env)
	_, err = storageOf(d, signIn(t, d, "Ben")).Search(wait(t), "levels", "", "recordid")
	storageRefuses(t, err, "TableNotFound")
	if out := words(d.cli("sake", "tables", testGame)); strings.Contains(out, "levels") {
		t.Errorf("the deleted table is shown:\n%s", out)
	}
}

// words returns a table with one space between the columns.
func words(table string) string { return strings.Join(strings.Fields(table), " ") + " " }
